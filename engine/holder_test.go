package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/testing/shown"
)

// keeping acquires a lock on all masters and keeps it alive.
func keeping(t *testing.T, e *Engine, masters []*redisserver.Server, ttl time.Duration) *Lock {
	t.Helper()
	lock, err := e.Acquire(t.Context(), t.Name(), ttl)
	require.NoError(t, err)
	require.NoError(t, lock.KeepAlive(0))
	everywhere(t, masters, lock)
	return lock
}

func TestFlushedMastersAreALossForAHolderThatIsKeptAlive(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	lock := keeping(t, e, masters, 5*time.Second)
	for _, m := range masters {
		redistest.Command(t, m, "FLUSHALL")
	}
	<-lock.Done()
	require.ErrorIs(t, lock.Err(), ErrLost)
	require.ErrorIs(t, lock.Err(), ErrNotHeld)
	require.NotErrorIs(t, lock.Err(), ErrExpired, "known before validity ran out")
	require.NoError(t, e.Close()) // what was under way is over
	require.Empty(t, redistest.Keys(t, masters...), "never set again")
	cycle(t, open(t, masters), t.Name())
}

func TestKeyDeletedOnAMajorityIsALossAndOnAMinorityIsHealed(t *testing.T) {
	t.Parallel()
	const ttl = 2 * patience
	for deleted := 1; deleted <= 3; deleted++ {
		t.Run(fmt.Sprint(deleted), func(t *testing.T) {
			t.Parallel()
			masters := five(t)
			e := open(t, masters)
			lock := keeping(t, e, masters, ttl)
			first := lock.Until()
			for _, m := range masters[:deleted] {
				require.EqualValues(t, 1, redistest.Command(t, m, "DEL", t.Name()))
			}
			if deleted == 3 {
				<-lock.Done()
				require.ErrorIs(t, lock.Err(), ErrNotHeld)
				require.NotErrorIs(t, lock.Err(), ErrExpired, "known before validity ran out")
				redistest.Gone(t, masters, t.Name()) // on the minority too
				return
			}
			soon(t, func() bool {
				has, of := lock.HeldOn()
				return has == of && !time.Now().Before(first)
			}, "healed, and renewed beyond its ttl")
			require.True(t, lock.Valid())
			everywhere(t, masters, lock)
			require.NoError(t, lock.Release(t.Context()))
			redistest.Gone(t, masters, t.Name())
		})
	}
}

func TestMasterStoppedForLongerThanTheLeaseHasTheLockAgain(t *testing.T) {
	const ttl = 2 * patience
	t.Parallel()
	masters := redistest.Masters(t, 5)
	e := open(t, masters)
	lock := keeping(t, e, masters, ttl)
	require.NoError(t, masters[0].Pause())
	stopped := time.Now()
	soon(t, func() bool { return upMasters(e) == 4 && time.Since(stopped) > ttl })
	require.True(t, lock.Valid())
	require.NoError(t, masters[0].Resume())
	soon(t, func() bool { return upMasters(e) == 5 })
	soon(t, func() bool { has, of := lock.HeldOn(); return has == of }, "healed at the one that is back")
	require.True(t, lock.Valid())
	everywhere(t, masters, lock)
	require.NoError(t, lock.Release(t.Context()))
	redistest.Gone(t, masters, t.Name())
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

func TestObserverAndLoggerAreToldAndSeeNoToken(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	var j journal
	e := open(t, masters, j.config)
	first, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	_, err = e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, ErrTaken)
	next := make(chan *Lock)
	go func() {
		lock, _ := e.Acquire(context.Background(), t.Name(), 5*time.Second)
		next <- lock
	}()
	soon(t, func() bool { return e.Stats().Waiting == 1 })
	first.lock()
	first.lease.term.Since = first.since.Add(time.Hour) // the bound is not reached yet, on a slow machine too
	first.unlock()
	require.NoError(t, first.Release(t.Context()))
	second := <-next
	require.NoError(t, second.Release(t.Context()))
	soon(t, func() bool { return j.has("released false true") })
	require.Equal(t, []string{"acquired 1", "not acquired 0", "released true true", "acquired 0", "released false true"}, func() []string {
		j.mu.Lock()
		defer j.mu.Unlock()
		return slices.Clone(j.events)
	}())
	require.NotContains(t, j.log.String(), `"WARN"`)

	third, err := e.Acquire(t.Context(), t.Name(), 5*time.Second)
	require.NoError(t, err)
	require.NoError(t, third.KeepAlive(0))
	soon(t, func() bool { return j.has("renewed true") })
	for _, m := range masters {
		redistest.Command(t, m, "FLUSHALL")
	}
	<-third.Done()
	soon(t, func() bool { return j.has("lost") && j.has("renewed false") })
	require.ErrorIs(t, third.Release(t.Context()), ErrNotHeld)
	soon(t, func() bool { return j.has("released false false") })
	soon(t, func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return bytes.Count(j.log.Bytes(), []byte(`"WARN"`)) == 2
	})
	for _, line := range []string{"lock lost", "renewal failed", t.Name()} {
		require.Contains(t, j.log.String(), line)
	}
	for _, lock := range []*Lock{first, second, third} {
		token := lock.lease.token
		require.NotContains(t, j.log.String(), token)
		for _, err := range j.errs {
			shown.RequireHidden(t, token, err)
		}
	}
}

// TestOneOfAnotherProcessGetsItsTurnBesideManyOfOurs has 64 goroutines of one engine pass
// a lock among themselves, and one of another engine want it too.
func TestOneOfAnotherProcessGetsItsTurnBesideManyOfOurs(t *testing.T) {
	masters := five(t)
	many, one := open(t, masters), open(t, masters)
	const turns = 10
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for range 64 {
		crowd.Go(func() {
			for ctx.Err() == nil {
				if lock, err := many.Acquire(ctx, t.Name(), 0); err == nil {
					_ = lock.Release(context.Background())
				}
			}
		})
	}
	soon(t, func() bool { return many.Stats().HandedOver > 0 })
	before, start := many.Stats().Acquired, time.Now()
	for range turns {
		lock, err := one.Acquire(t.Context(), t.Name(), 0)
		require.NoError(t, err)
		require.NoError(t, lock.Release(t.Context()))
	}
	took := time.Since(start)
	acquired := many.Stats().Acquired - before
	cancel()
	crowd.Wait()
	t.Logf("one: %.0f a second, 64 others: %.0f a second", turns/took.Seconds(), float64(acquired)/took.Seconds())
}

func TestHolderIsPrintableAndShort(t *testing.T) {
	for text, bad := range map[string]bool{
		"": false, "web-7/4211 worker": false, "日本": false, strings.Repeat("x", limits.HolderBytes): false,
		strings.Repeat("x", 65): true, "a\nb": true, "a\x1b[31m": true, "\xff": true, "a\u202eb": true, "\u2028": true, "\x00": true,
	} {
		err := Config{Masters: []string{"a:1"}, Holder: text}.withDefaults().validate()
		if bad {
			require.ErrorIs(t, err, ErrInvalid, "%q", text)
			require.ErrorContains(t, err, "Holder")
			continue
		}
		require.NoError(t, err, "%q", text)
	}
}

func TestWithoutAHolderATokenEndsWithAnEmptyOne(t *testing.T) {
	masters := five(t)
	lock, err := open(t, masters).Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.Regexp(t, "^[A-Za-z0-9+/]{22}==@$", lock.Reveal())
	require.NoError(t, lock.Release(t.Context()))
}
