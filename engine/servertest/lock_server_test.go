package servertest

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

func TestKeyOfAnotherLibraryOnAMajorityIsTaken(t *testing.T) {
	masters := five(t)
	e := open(t, masters)
	redistest.Put(t, masters[:3], t.Name(), "foreign")
	_, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	require.ErrorIs(t, err, engine.ErrNotAcquired)
	var attempt *engine.AttemptError
	require.ErrorAs(t, err, &attempt)
	require.Equal(t, 5, attempt.Masters)
	require.Equal(t, 3, attempt.Refused)
	require.LessOrEqual(t, attempt.Granted, 2)
	require.Zero(t, attempt.Unknown)
	require.Contains(t, err.Error(), "of 5 masters")
	redistest.Gone(t, masters[3:], t.Name())
	require.Equal(t, []string{"foreign", "foreign", "foreign"}, redistest.Get(t, masters[:3], t.Name()))
	redistest.Delete(t, masters[:3], t.Name())
}

func TestContextOfALockEndsWithReleaseParentOrItsCancel(t *testing.T) {
	e := open(t, five(t))
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	parent, cancelParent := context.WithCancel(t.Context())
	a, cancelA := lock.Context(t.Context())
	b, cancelB := lock.Context(parent)
	c, cancelC := lock.Context(t.Context())
	defer cancelB()
	defer cancelC()
	cancelA()
	require.ErrorIs(t, a.Err(), context.Canceled)
	cancelParent()
	<-b.Done()
	require.ErrorIs(t, context.Cause(b), context.Canceled)
	require.NoError(t, c.Err())
	require.True(t, lock.Valid())
	require.NoError(t, lock.Release(t.Context()))
	<-c.Done()
	require.ErrorIs(t, context.Cause(c), engine.ErrNotHeld)
	cancelA() // twice is fine
}

func TestLockInALogHasItsNameAndEndAndNoToken(t *testing.T) {
	e := open(t, five(t))
	lock, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	var b strings.Builder
	slog.New(slog.NewJSONHandler(&b, nil)).Info("held", "lock", lock)
	var line struct {
		Lock map[string]any `json:"lock"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.String()), &line))
	until, err := lock.Until().MarshalText()
	require.NoError(t, err)
	require.Equal(t, map[string]any{"name": t.Name(), "until": string(until)}, line.Lock)
	require.NoError(t, lock.Release(t.Context()))
}
