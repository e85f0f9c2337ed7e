package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/redisfake"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/shown"
	"muxlock/pipeline"
	"muxlock/scripts"
)

// A server quotes the arguments of a command that it does not know. Here it knows none that
// carries a secret.

// quotes is how: from Redis 7 on, and before.
var quotes = map[string]func(words []string) error{
	"apostrophes": func(words []string) error {
		return fmt.Errorf("ERR unknown command '%s', with args beginning with: '%s' ", words[0], strings.Join(words[1:], "' '"))
	},
	"backquotes": func(words []string) error {
		return fmt.Errorf("ERR unknown command `%s`, with args beginning with: `%s`, ", words[0], strings.Join(words[1:], "`, `"))
	},
}

const password = "swordfish"

// secrets is what no text may show: tokens, as package token makes them, and the password.
var secrets = regexp.MustCompile(`[0-9A-Za-z+/]{22}==|` + password)

// requireNoSecret asserts that values can be printed.
func requireNoSecret(t *testing.T, values ...any) {
	t.Helper()
	for _, v := range values {
		for _, text := range shown.Texts(v) {
			require.NotRegexp(t, secrets, text, "%T", v)
		}
	}
}

// A journal is what an observer and a logger received.
type journal struct {
	mu     sync.Mutex // guards the following
	events []string
	errs   []error
	log    bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.log.Write(line)
}

func (j *journal) note(err error, event string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, fmt.Sprintf(event, args...))
	j.errs = append(j.errs, err)
}

func (j *journal) has(event string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.events, event)
}

func (j *journal) config(c *Config) {
	c.Logger = slog.New(slog.NewJSONHandler(j, nil))
	c.Observer = &Observer{
		Acquired:    func(name string, _ time.Duration, attempts int) { j.note(nil, "acquired %d", attempts) },
		NotAcquired: func(name string, _ time.Duration, attempts int, err error) { j.note(err, "not acquired %d", attempts) },
		Released: func(name string, _ time.Duration, handedOver bool, err error) {
			j.note(err, "released %v %v", handedOver, err == nil)
		},
		Lost:    func(name string, _ time.Duration, cause error) { j.note(cause, "lost") },
		Renewed: func(name string, err error) { j.note(err, "renewed %v", err == nil) },
	}
}

// A quoter is five masters that answer commands in which there is a secret with quotes of them.
type quoter struct {
	journal
	cfg     Config
	masters []*redisfake.Server
	looked  int // errors of the journal
}

func newQuoter(t *testing.T) *quoter {
	q := &quoter{cfg: Config{MaxAttempts: 1}}
	byAddress := make(map[string]*redisfake.Server)
	for i := range 5 {
		master, address := redisfake.New(), fmt.Sprintf("192.0.2.%d:6379", i)
		t.Cleanup(master.Close)
		byAddress[address] = master
		q.masters, q.cfg.Masters = append(q.masters, master), append(q.cfg.Masters, address)
	}
	q.cfg.Client = rueidis.ClientOption{Password: password, DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		return byAddress[address].Dial(ctx, address, d, c)
	}}
	q.config(&q.cfg)
	q.cfg.Observer.Master = func(_ string, up bool, cause error) { q.note(cause, "up %v", up) }
	return q
}

// answer has commands with a secret answered; nil: by the masters again.
func (q *quoter) answer(with func(words []string) any) {
	q.answerEach(func(*redisfake.Server) func(words []string) any { return with })
}

// answerEach is answer with what depends on the master.
func (q *quoter) answerEach(by func(*redisfake.Server) func(words []string) any) {
	for _, m := range q.masters {
		with := by(m)
		m.Answer(func(words []string) any {
			if with == nil || !secrets.MatchString(strings.Join(words, " ")) {
				return nil
			}
			return with(words)
		})
	}
}

func (q *quoter) slow(d time.Duration) {
	for _, m := range q.masters {
		m.Slow(d)
	}
}

// restore has the masters answer again, and waits for all of them.
func (q *quoter) restore(t *testing.T, e *Engine) {
	t.Helper()
	q.answer(nil)
	await.True(t, func() bool { return !slices.ContainsFunc(e.Stats().Masters, func(m MasterStats) bool { return !m.Up }) })
}

// requireNothingShown asserts that no event, log line or state of the engine has a secret.
func (q *quoter) requireNothingShown(t *testing.T, e *Engine) {
	t.Helper()
	findings, err := Admin.Check(t.Context(), e)
	require.NoError(t, err)
	inspection, err := Admin.Inspect(t.Context(), e, "name")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	requireNoSecret(t, append(findings, e.Stats(), inspection, err, e.Ready(ctx))...)
	q.mu.Lock()
	defer q.mu.Unlock()
	require.NotRegexp(t, secrets, q.log.String())
	for _, err := range q.errs[q.looked:] {
		requireNoSecret(t, err)
	}
	q.looked = len(q.errs)
}

// eachQuote runs a test with each quote, without and with fencing.
func eachQuote(t *testing.T, test func(t *testing.T, q *quoter, quote func([]string) error, fencing bool)) {
	if testing.Short() {
		t.Skip("texts")
	}
	for name, quote := range quotes {
		for _, fencing := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/fencing=", fencing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := newQuoter(t)
					q.cfg.Fencing = fencing
					test(t, q, quote, fencing)
				})
			})
		}
	}
}

func TestTokensThatAServerQuotesAreInNoText(t *testing.T) {
	eachQuote(t, func(t *testing.T, q *quoter, quote func([]string) error, fencing bool) {
		refused := func(words []string) any {
			if words[0] == "HELLO" {
				return nil
			}
			return quote(words)
		}
		if fencing {
			q.answer(refused)
			err := Admin.SetUp(t.Context(), q.cfg, SetUpOptions{})
			require.ErrorContains(t, err, "unknown command")
			requireNoSecret(t, err)
			q.answer(nil)
			require.NoError(t, Admin.SetUp(t.Context(), q.cfg, SetUpOptions{MastersAreNew: true}))
		}
		q.answer(refused)
		_, err := New(t.Context(), q.cfg)
		require.ErrorContains(t, err, "unknown command")
		requireNoSecret(t, err)
		q.answer(nil)
		e, err := New(t.Context(), q.cfg)
		require.NoError(t, err)
		defer e.Close()

		kept := mustAcquire(t, e, "kept", 0)
		require.NoError(t, kept.KeepAlive(0))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{t.Context(), ended} {
			_, err := e.Acquire(ctx, "kept", 0)
			require.ErrorIs(t, err, ErrTaken)
			requireNoSecret(t, err)
		}
		for _, ask := range []func(l *Lock) error{
			func(*Lock) error { _, err := e.TryAcquire(t.Context(), "another", 0); return err },
			func(l *Lock) error { return l.Extend(t.Context(), 20*time.Second) },
			func(l *Lock) error { return l.Release(t.Context()) },
		} {
			l := mustAcquire(t, e, "name", 0)
			q.answer(refused)
			err := ask(l)
			require.ErrorIs(t, err, ErrNoQuorum)
			require.ErrorContains(t, err, "unknown command")
			requireNoSecret(t, err)
			q.requireNothingShown(t, e)
			time.Sleep(3 * time.Second) // probes fail
			q.requireNothingShown(t, e)
			q.restore(t, e)
			_ = l.Release(t.Context())
		}
		q.answer(refused)
		<-kept.Done()
		time.Sleep(time.Second)
		q.requireNothingShown(t, e)
		for _, line := range []string{"renewal failed", "lock lost", "release not confirmed", "master set aside"} {
			require.Contains(t, q.log.String(), line)
		}
		for _, event := range []string{"up false", "renewed true", "renewed false", "lost", "not acquired 1", "released false false"} {
			require.True(t, q.has(event), event)
		}
	})
}

// inScripts answers calls of the scripts that many locks share as if each command in them was
// one that the server does not know: its error comes behind the votes. The scripts of fencing
// answer with the master's mark.
func inScripts(quote func(words []string) error, mark string) func(words []string) any {
	return func(words []string) any {
		if words[0] != "EVALSHA" {
			return nil
		}
		keys, _ := strconv.Atoi(words[2])
		switch fault := "\n" + quote(words).Error(); words[1] {
		case scripts.Batch.SHA1:
			return strings.Repeat("e", keys) + fault
		case scripts.FencedExtend.SHA1:
			return mark + "\n" + strings.Repeat("e", keys-3) + fault
		case scripts.FencedAcquire.SHA1:
			return mark + "\n" + strings.TrimSpace(strings.Repeat("e ", keys-3)) + fault
		}
		return nil
	}
}

func TestTokensThatAreQuotedInTheAnswerOfAScriptAreInNoText(t *testing.T) {
	eachQuote(t, func(t *testing.T, q *quoter, quote func([]string) error, fencing bool) {
		if fencing {
			require.NoError(t, Admin.SetUp(t.Context(), q.cfg, SetUpOptions{MastersAreNew: true}))
		}
		e, err := New(t.Context(), q.cfg)
		require.NoError(t, err)
		defer e.Close()
		locks := make([]*Lock, 32)
		for i := range locks {
			locks[i] = mustAcquire(t, e, fmt.Sprint(i), 0)
		}
		asks := []func(i int) error{
			func(i int) error { return locks[i].Extend(t.Context(), 20*time.Second) },
			func(i int) error { return locks[i].Release(t.Context()) },
		}
		if fencing { // else an acquire is no script
			asks = append(asks, func(i int) error { _, err := e.TryAcquire(t.Context(), fmt.Sprint("new", i), 0); return err })
		}
		for _, ask := range asks {
			q.slow(20 * time.Millisecond) // while the first is under way, the others gather
			q.answerEach(func(m *redisfake.Server) func(words []string) any {
				return inScripts(quote, m.Value("__muxlock__:admitted"))
			})
			errs := make([]error, len(locks))
			var calls sync.WaitGroup
			for i := range locks {
				calls.Go(func() { errs[i] = ask(i) })
			}
			calls.Wait()
			require.ErrorContains(t, errors.Join(errs...), "unknown command")
			requireNoSecret(t, errors.Join(errs...))
			q.slow(0)
			q.requireNothingShown(t, e)
			q.restore(t, e)
		}
	})
}

func TestPasswordsThatAServerQuotesAreInNoText(t *testing.T) {
	for name, quote := range quotes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQuoter(t)
				e, err := New(t.Context(), q.cfg)
				require.NoError(t, err)
				defer e.Close()
				q.answer(func(words []string) any {
					if words[0] == "HELLO" || words[0] == "AUTH" {
						return quote(words)
					}
					return nil
				})
				_, err = New(t.Context(), q.cfg)
				require.ErrorContains(t, err, "unknown command")
				requireNoSecret(t, err)
				findings, err := Admin.Check(t.Context(), e)
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(findings), "unknown command")
				q.requireNothingShown(t, e)
			})
		})
	}
}

func TestPrintedLockShowsNoToken(t *testing.T) {
	lock := secretLock()
	shown.RequireHidden(t, secret, lock, []*Lock{lock}, struct{ Lock *Lock }{lock}, struct{ lock *Lock }{lock})
}

const secret = "AAECAwQFBgcICQoLDA0ODw=="

// secretLock is a lock whose token is the secret.
func secretLock() *Lock {
	req := pipeline.Request{Name: "name", Token: secret, TTL: time.Hour}
	return grant(&Engine{}, &nameState{shard: &shard{}}, req, 5, clock.Now(), clock.Now())
}
