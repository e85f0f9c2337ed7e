package groups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

// restart restarts all masters of a group, without their data, after an outage.
func (w world) restart(id string, outage time.Duration) {
	for i := range 3 {
		w[fmt.Sprint(id, i, ":1")].Down()
	}
	time.Sleep(outage)
	for i := range 3 {
		w[fmt.Sprint(id, i, ":1")].Restart()
	}
}

// twice returns how many of 30 names two engines hold at once.
func twice(t *testing.T, one, two *engine.Engine) (n int) {
	for i := range 30 {
		name := fmt.Sprint("name ", i)
		mine, err := one.TryAcquire(t.Context(), name, 0)
		require.NoError(t, err, "it goes on")
		theirs, err := two.TryAcquire(t.Context(), name, 0)
		if err == nil && mine.Valid() && theirs.Valid() {
			n++
		}
		for _, l := range []*engine.Lock{mine, theirs} {
			if l != nil {
				require.NoError(t, l.Release(t.Context()))
			}
		}
	}
	return n
}

// TestAGroupThatLostTheNoteLetsNoOtherMapIn starts a process with another map at any time after all masters of the group
// that both maps share came up empty.
func TestAGroupThatLostTheNoteLetsNoOtherMapIn(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random, w := rand.New(rand.NewPCG(seed, 0)), newWorld(t)
			config := func(now string) Config {
				cfg := w.config(now, "")
				cfg.TTL, cfg.MaxTTL, cfg.MasterTimeout = time.Second, time.Duration(1+random.IntN(30))*time.Second, 200*time.Millisecond
				return cfg
			}
			w.groups("a", "b", "c")
			cfg := config("ab")
			first, err := New(t.Context(), cfg)
			require.NoError(t, err)
			defer first.Close()
			time.Sleep(time.Duration(random.Int64N(int64(cfg.MaxTTL))))
			w.restart("a", time.Duration(random.Int64N(int64(3*time.Second))))
			latest := cfg.MaxTTL + 2*time.Second
			if seed%5 > 0 {
				latest = cfg.MaxTTL / 8 // before the first process writes the note again
			}
			time.Sleep(time.Duration(random.Int64N(int64(latest))))
			other := w.config("ac", "")
			other.Config = cfg.Config
			second, err := New(t.Context(), other)
			if err == nil {
				defer second.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 2*cfg.MaxTTL+5*time.Second)
				defer cancel()
				require.NoError(t, first.Ready(ctx))
				err = second.Ready(ctx)
				require.Zero(t, twice(t, first.Engine, second.Engine), "seed %d", seed)
			}
			require.True(t, errors.Is(err, engine.ErrConfigMismatch), "seed %d: %v", seed, err)
		})
	}
}

func (w world) note(master string) string { return w[master+":1"].Value("__muxlock__:groups:") }

// TestOfTwoMapsThatStartAtOnceOneWins starts processes with one of two maps on masters without a note: old ones that vote,
// or some that were restarted just now.
func TestOfTwoMapsThatStartAtOnceOneWins(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random, w := rand.New(rand.NewPCG(seed, 0)), newWorld(t)
			w.groups("a", "b", "c")
			if seed%2 == 1 {
				w.restart("a", 0)
			}
			for _, m := range w {
				m.Slow(time.Duration(random.IntN(10)) * time.Millisecond)
			}
			var all sync.WaitGroup
			errs := make([]error, 6)
			for i := range errs {
				delay := time.Duration(random.IntN(20)) * time.Millisecond
				all.Go(func() {
					time.Sleep(delay)
					e, err := New(t.Context(), w.config([]string{"ab", "ac"}[i%2], ""))
					if err == nil {
						t.Cleanup(func() { require.NoError(t, e.Close()) })
						err = e.Ready(t.Context())
					}
					errs[i] = err
				})
			}
			all.Wait()
			won, lost := errs[0], errs[1]
			if won != nil {
				won, lost = lost, won
			}
			require.NoError(t, won)
			require.ErrorIs(t, lost, engine.ErrConfigMismatch)
			for i, err := range errs {
				require.Equal(t, errs[i%2] == nil, err == nil, "no process of the map that won is refused: %v", err)
			}
			notes := make(map[string]int)
			for _, m := range w {
				notes[m.Value("__muxlock__:groups:")]++
			}
			require.Len(t, notes, 2, "there is one note")
			require.Equal(t, 3, notes[""], "and none in the group of those that were refused")
		})
	}
}

// TestNoProcessOfAMapInUseIsRefused restarts masters without their data, one by one or all of a group, while processes change the map
// step by step, several at once.
func TestNoProcessOfAMapInUseIsRefused(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random, w := rand.New(rand.NewPCG(seed, 0)), newWorld(t)
			w.groups("a", "b", "c")
			running, stop := context.WithCancel(t.Context())
			var faults, starts sync.WaitGroup
			faults.Go(func() {
				for running.Err() == nil {
					if id := string("abc"[random.IntN(3)]); random.IntN(3) == 0 {
						w.restart(id, time.Second)
					} else {
						w[fmt.Sprint(id, random.IntN(3), ":1")].Restart()
					}
					time.Sleep(time.Duration(random.IntN(10)) * time.Second)
				}
			})
			var before []*Engine
			for _, maps := range [][2]string{{"ab", ""}, {"ab", "abc"}, {"abc", ""}, {"abc", "bc"}, {"bc", ""}} {
				now := make([]*Engine, 4)
				for i := range now {
					starts.Go(func() {
						for { // a group may be down
							cfg := w.config(maps[0], maps[1])
							cfg.TTL, cfg.MaxTTL, cfg.MasterTimeout = time.Second, 3*time.Second, 200*time.Millisecond
							e, err := New(t.Context(), cfg)
							if now[i] = e; err == nil {
								assert.NoError(t, e.Ready(t.Context()), "seed %d: %v", seed, maps)
								return
							}
							assert.ErrorIs(t, err, engine.ErrNoQuorum, "seed %d: %v", seed, maps)
							if !assert.NotErrorIs(t, err, engine.ErrConfigMismatch) {
								return
							}
							time.Sleep(time.Second)
						}
					})
				}
				starts.Wait()
				for _, e := range before {
					require.NoError(t, e.Close())
				}
				before = now
				time.Sleep(3 * time.Second)
			}
			stop()
			faults.Wait()
			for _, e := range before {
				require.NoError(t, e.Close())
			}
		})
	}
}

// TestNoLockIsTakenBeforeTheMapIsKnown starts a process right after all masters of a group.
func TestNoLockIsTakenBeforeTheMapIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.groups("a", "b")
		w.restart("a", 0)
		e := w.open(t, "ab", "")
		name := nameIn(t, e, "b", 0)
		refused := func(err error) {
			t.Helper()
			for _, as := range []error{engine.ErrNoQuorum, engine.ErrNotAcquired, engine.ErrRestarted} {
				require.ErrorIs(t, err, as)
			}
			require.ErrorContains(t, err, `group "a"`)
		}
		for _, acquire := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := e.TryAcquire(ctx, name, 0); return err },
			func(ctx context.Context) error { _, err := e.TryAcquireShared(ctx, name, 0); return err },
			func(ctx context.Context) error { _, err := e.TryAcquirePermit(ctx, name, 1, 0); return err },
			func(ctx context.Context) error { _, err := e.TryAcquireAll(ctx, []string{name}, 0); return err },
			func(ctx context.Context) error { return e.AcquireMany(ctx, []string{name}, 0)[0].Err },
			func(ctx context.Context) error {
				return e.TryDo(ctx, name, 0, func(context.Context) error { return nil })
			},
		} {
			err := acquire(t.Context())
			refused(err)
			require.NotErrorIs(t, err, context.Canceled)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.Acquire(soon, name, 0)
		refused(err)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, e.Ready(soon), engine.ErrNoQuorum)
		for _, m := range w {
			require.Empty(t, m.Keys())
		}
		begun := time.Now()
		lock, err := e.Acquire(t.Context(), name, 0)
		require.NoError(t, err)
		require.Greater(t, time.Since(begun), 20*time.Second)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, e.Ready(t.Context()))
		for address := range w {
			require.NotEmpty(t, w.note(address[:2]))
		}
		w.restart("a", 0)
		_, err = w.open(t, "ab", "").TryAcquire(t.Context(), name, 0)
		require.NoError(t, err, "group b knows this very map")

		w = newWorld(t)
		w.groups("a", "b")
		w.restart("a", 0)
		e = w.open(t, "ab", "")
		go func() {
			time.Sleep(time.Second)
			_ = e.Close()
		}()
		_, err = e.Acquire(t.Context(), name, 0)
		require.ErrorIs(t, err, engine.ErrClosed)
	})
}

// TestAGroupThatLeftTheMapDoesNotVouchForIt restarts all masters of the group that stayed.
func TestAGroupThatLeftTheMapDoesNotVouchForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, maps := range [][2]string{{"ab", ""}, {"ab", "a"}} {
			require.NoError(t, tried(t, w.config(maps[0], maps[1])))
		}
		w.open(t, "a", "")
		w.restart("a", 0)
		late := w.open(t, "ab", "")
		_, err := late.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrNoQuorum)
		_, err = late.Acquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrConfigMismatch)
		require.ErrorIs(t, late.Ready(t.Context()), engine.ErrConfigMismatch)
		_, err = late.TryAcquire(t.Context(), "name", 0)
		require.ErrorIs(t, err, engine.ErrConfigMismatch)
	})
}

// TestTheLatestNoteOfAGroupCountsThoughAnotherHasMoreSteps: a group was lost and used with another map since.
func TestTheLatestNoteOfAGroupCountsThoughAnotherHasMoreSteps(t *testing.T) {
	w := newWorld(t)
	for _, maps := range [][2]string{{"a", ""}, {"a", "ac"}, {"ac", ""}} {
		require.NoError(t, tried(t, w.config(maps[0], maps[1])))
	}
	w.lose("a", "__muxlock__:groups:")
	w.open(t, "ab", "")
	require.Contains(t, w.note("a0"), "1 ")
	require.Contains(t, w.note("c0"), "3 ")
	require.ErrorIs(t, tried(t, w.config("ac", "")), engine.ErrConfigMismatch)
}

// TestAForeignNoteIsLoggedAndNeverCopied puts another map's note on some masters while a process runs.
func TestAForeignNoteIsLoggedAndNeverCopied(t *testing.T) {
	for _, step := range []string{"1", "9"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			var logged strings.Builder
			cfg := w.config("ab", "")
			cfg.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))
			e, err := New(t.Context(), cfg)
			require.NoError(t, err)
			mine := w.note("a0")
			foreign := step + " 0123456789abcdef " + none
			w["a0:1"].Set("__muxlock__:groups:", foreign)
			w["a1:1"].Set("__muxlock__:groups:", foreign)
			w["a2:1"].Delete("__muxlock__:groups:")
			w["b0:1"].Set("__muxlock__:groups:", "no note")
			time.Sleep(2 * time.Minute)
			for master, note := range map[string]string{"a0": foreign, "a1": foreign, "a2": mine, "b0": mine, "b1": mine} {
				require.Equal(t, note, w.note(master), master)
			}
			for _, name := range []string{nameIn(t, e, "a", 0), nameIn(t, e, "b", 0)} {
				require.NoError(t, e.TryDo(t.Context(), name, 0, func(context.Context) error { return nil }), "it goes on")
			}
			require.ErrorIs(t, tried(t, w.config("ab", "")), engine.ErrConfigMismatch, "neither note is known to be right")
			require.NoError(t, e.Close())
			require.Equal(t, 1, strings.Count(logged.String(), "level=ERROR"), logged.String())
			require.Contains(t, logged.String(), "the masters have Groups 0123456789abcdef and Next none")
		})
	}
}
