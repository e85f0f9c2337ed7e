package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

const secret = "AAECAwQFBgcICQoLDA0ODw=="

// printed returns v as every common way of printing shows it.
func printed(v any) (texts []string) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %v"} {
		args := []any{v}
		if verb == "%T %v" {
			args = []any{v, v}
		}
		texts = append(texts, fmt.Sprintf(verb, args...))
	}
	texts = append(texts, fmt.Sprint(v), fmt.Sprintln(v))
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, xml.Marshal} {
		text, _ := marshal(v)
		texts = append(texts, string(text))
	}
	var out bytes.Buffer
	log.New(&out, "", 0).Print(v)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("message", "key", v, slog.Group("g", "k", v), "list", []any{v})
	}
	return append(texts, out.String())
}

func requireHidden(t testing.TB, secret string, values ...any) {
	t.Helper()
	for _, v := range values {
		for _, text := range printed(v) {
			require.NotContains(t, text, secret, "%T", v)
			require.NotContains(t, text, fmt.Sprintf("%x", secret), "%T", v)
			require.NotContains(t, text, fmt.Sprintf("%X", secret), "%T", v)
		}
	}
}

// secretLock is a lock whose token is the secret.
func secretLock() *Lock {
	req := pipeline.Request{Name: "name", Token: secret, TTL: time.Hour}
	return grant(&Engine{}, &nameState{shard: &shard{}}, req, 5, clock.Now(), clock.Now())
}

func TestPrintedLockShowsNoToken(t *testing.T) {
	lock := secretLock()
	requireHidden(t, secret, lock, []*Lock{lock}, struct{ Lock *Lock }{lock}, struct{ lock *Lock }{lock})
}

func TestNoErrorHoldsAToken(t *testing.T) {
	masters := five(t)
	e, links := bent(t, masters, func(c *Config) { c.MaxAttempts = 1 })
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	_, taken := e.Acquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, taken, ErrTaken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, ended := e.Acquire(ctx, t.Name(), 0)
	for _, link := range links {
		link.RefuseDials(true)
		link.Cut()
	}
	extend := lock.Extend(t.Context(), 20*time.Second)
	require.ErrorIs(t, extend, ErrNoQuorum)
	release := lock.Release(t.Context())
	require.ErrorIs(t, release, ErrNoQuorum)
	for _, err := range []error{taken, ended, extend, release, lock.Err(), lock.Extend(t.Context(), 0)} {
		requireHidden(t, lock.Reveal(), err)
	}
	requireHidden(t, lock.Reveal(), e.Stats())
	for _, link := range links {
		link.RefuseDials(false)
	}
	soon(t, func() bool { return upMasters(e) == 5 })
	gone(t, masters, t.Name())
}
