package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/limits"
	"muxlock/internal/testing/draw"
	"muxlock/pipeline"
	"muxlock/scripts"
)

func mustAcquireAll(t testing.TB, e *Engine, names ...string) *Set {
	t.Helper()
	s, err := e.AcquireAll(context.Background(), names, 0)
	require.NoError(t, err)
	return s
}

func TestSetOfBadNamesIsRefusedBeforeAnythingIsSent(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for want, names := range map[string][]string{
			"names is empty":                                   {},
			"names[1]: muxlock: invalid: name":                 {"a", ""},
			"names[2]: muxlock: invalid: name has":             {"a", "b", strings.Repeat("x", limits.NameBytes+1)},
			"names[2] \"a\" is names[0], too":                  {"a", "b", "a"},
			"has 101 names, more than Config.Queue takes: 100": numbered("name", 101),
		} {
			for _, acquire := range []func(context.Context, []string, time.Duration) (*Set, error){e.AcquireAll, e.TryAcquireAll} {
				_, err := acquire(t.Context(), names, 0)
				require.ErrorIs(t, err, ErrInvalid)
				require.ErrorContains(t, err, want)
			}
		}
		_, err := e.AcquireAll(t.Context(), []string{"a"}, time.Nanosecond)
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorIs(t, e.DoAll(t.Context(), []string{"a"}, 0, nil), ErrInvalid)
		require.Zero(t, s.requests())
	}, func(c *Config) { c.Queue = 100 })
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		_, err := e.AcquireAll(t.Context(), numbered("name", limits.SetNames+1), 0)
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, "has 1001 names, more than 1000")
		require.Zero(t, s.requests())
	})
}

// A Set that waits for one name leaves the others to everybody, here and elsewhere.
func TestSetThatWaitsHoldsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		for _, here := range []bool{true, false} {
			var lock *Lock
			if here {
				lock = mustAcquire(t, e, "b", 0)
			} else {
				s.set(func() { s.keys["b"] = scriptedKey{token: "of another process", ends: time.Now().Add(time.Minute)} })
			}
			got := make(chan *Set, 1)
			go func() { got <- mustAcquireAll(t, e, "a", "b", "c") }()
			time.Sleep(time.Second)
			for _, name := range []string{"a", "c"} {
				for range 3 {
					l, err := e.TryAcquire(t.Context(), name, 0)
					require.NoError(t, err, "here: %v", here)
					require.NoError(t, l.Release(t.Context()))
				}
			}
			require.Empty(t, got)
			if _, err := e.TryAcquire(t.Context(), "b", 0); !here {
				require.ErrorIs(t, err, ErrTaken)
				require.NotErrorIs(t, err, errTakenHere, "nobody here contends for it")
			}
			if here {
				require.NoError(t, lock.Release(t.Context()))
			} else {
				s.drop("b")
			}
			begun := time.Now()
			set := <-got
			require.Less(t, time.Since(begun), 100*time.Millisecond, "woken")
			require.NoError(t, set.Release(t.Context()))
			requireNothingLeft(t, e, s)
		}
	})
}

// Who waits here for a name has it in the order of arrival: a lock, a set, a lock. A set is handed no lock.
func TestSetHasItsTurnInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		first := mustAcquire(t, e, "a", 0)
		order := make(chan string, 3)
		var all sync.WaitGroup
		all.Go(func() {
			l := mustAcquire(t, e, "a", 0)
			order <- "before"
			time.Sleep(10 * time.Millisecond)
			assert.NoError(t, l.Release(t.Context()))
		})
		synctest.Wait()
		all.Go(func() {
			s := mustAcquireAll(t, e, "a", "b")
			order <- "set"
			time.Sleep(10 * time.Millisecond)
			assert.NoError(t, s.Release(t.Context()))
		})
		synctest.Wait()
		all.Go(func() {
			l := mustAcquire(t, e, "a", 0)
			order <- "after"
			assert.NoError(t, l.Release(t.Context()))
		})
		synctest.Wait()
		require.NoError(t, first.Release(t.Context()))
		all.Wait()
		require.Equal(t, []string{"before", "set", "after"}, []string{<-order, <-order, <-order})
		require.EqualValues(t, 2, e.Stats().HandedOver, "from lock to lock, and from the set to a lock")
		requireNothingLeft(t, e, s)
	})
}

// Sets that cross in this process and others' locks among them: all get what they want, and at most one has a name.
func TestSetsThatCrossNeitherWaitForEachOtherNorShareAName(t *testing.T) {
	seed := draw.Seed(t)
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		names := numbered("name", 6)
		holders := make([]atomic.Int32, len(names))
		var all sync.WaitGroup
		for w := range 12 {
			random := rand.New(rand.NewPCG(seed, uint64(w)))
			all.Go(func() {
				for range 30 {
					chosen := random.Perm(len(names))[:1+random.IntN(4)]
					var wanted []string
					for _, i := range chosen {
						wanted = append(wanted, names[i])
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(3000))*time.Millisecond)
					var held held
					var err error
					if w%3 == 0 {
						wanted, chosen = wanted[:1], chosen[:1]
						held, err = e.Acquire(ctx, wanted[0], 0)
					} else {
						held, err = e.AcquireAll(ctx, wanted, 0)
					}
					if err == nil {
						for _, i := range chosen {
							assert.EqualValues(t, 1, holders[i].Add(1))
						}
						time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
						for _, i := range chosen {
							holders[i].Add(-1)
						}
						assert.NoError(t, held.Release(context.Background()))
					} else {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					}
					cancel()
				}
			})
		}
		all.Wait()
		requireNothingLeft(t, e, s)
	})
}

// What is lost of a Set ends it; the others stay held until it is released.
func TestLossOfOneNameIsTheLossOfTheSet(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		givenUp := errors.New("given up")
		lose := func(ctx context.Context, key string) error {
			time.Sleep(10 * time.Second)
			require.NoError(t, ctx.Err(), "kept alive")
			s.drop(key)
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), ErrLost)
			return givenUp
		}
		for _, err := range []error{
			e.DoAll(t.Context(), []string{"a", "b", "c"}, 3*time.Second, func(ctx context.Context, set *Set) error {
				err := lose(ctx, "b")
				<-set.Done()
				require.ErrorContains(t, set.Err(), `"b"`)
				require.False(t, set.Valid())
				require.ErrorIs(t, set.Extend(t.Context(), 0), ErrLost)
				return err
			}),
			e.DoPermit(t.Context(), "name", 5, 3*time.Second, func(ctx context.Context) error {
				lock, _ := LockFrom(ctx)
				return lose(ctx, keyOf(lock.Slot(), "name"))
			}),
		} {
			require.ErrorIs(t, err, givenUp)
			require.ErrorIs(t, err, ErrLost)
		}
		requireNothingLeft(t, e, s)
	})
}

func TestLossOfOneNameEndsTheRenewalsOfTheOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		set, err := e.AcquireAll(t.Context(), []string{"a", "b", "c"}, 3*time.Second)
		require.NoError(t, err)
		require.NoError(t, set.KeepAlive(0))
		require.ErrorIs(t, set.KeepAlive(-1), ErrInvalid, "it changes nothing")
		time.Sleep(time.Minute)
		require.True(t, set.Valid())
		s.drop("b")
		<-set.Done()
		time.Sleep(3 * time.Second)
		require.Empty(t, s.locked())
		require.ErrorIs(t, set.KeepAlive(0), ErrLost)
		require.ErrorIs(t, set.Release(t.Context()), ErrNotHeld)
		requireNothingLeft(t, e, s)
	})
}

// A caller whose ctx ends in the queue here learns why this process does not have the name.
func TestSetThatIsNotAcquiredSaysWhyAsALockDoes(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		ctx, cancel := context.WithCancel(t.Context())
		s.set(func() { s.away = true })
		go func() { _, _ = e.Acquire(ctx, "a", 0) }()
		time.Sleep(time.Second)
		short, end := context.WithTimeout(t.Context(), time.Second)
		_, err := e.AcquireAll(short, []string{"a", "b"}, 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		require.NotErrorIs(t, err, ErrTaken)
		end()
		s.set(func() {
			s.away, s.keys["a"] = false, scriptedKey{token: "of another process", ends: time.Now().Add(time.Minute)}
		})
		time.Sleep(time.Second)
		cancel()
		short, end = context.WithTimeout(t.Context(), time.Second)
		_, err = e.AcquireAll(short, []string{"a", "b"}, 0)
		require.ErrorIs(t, err, ErrTaken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		end()
		s.drop("a")
		requireNothingLeft(t, e, s)
	})
}

func TestSetIsExtendedInOneRoundTrip(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		set := mustAcquireAll(t, e, numbered("name", 50)...)
		begun := time.Now()
		require.NoError(t, set.Extend(t.Context(), 30*time.Second))
		require.Equal(t, time.Millisecond, time.Since(begun))
		require.Equal(t, 50, s.count(pipeline.Extend))
		s.set(func() { s.away = true })
		require.ErrorIs(t, set.Extend(t.Context(), 30*time.Second), ErrNoQuorum)
		require.True(t, set.Valid())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, set.Extend(ctx, 30*time.Second), context.Canceled)
		s.set(func() { s.away = false })
		require.NoError(t, set.Release(t.Context()))
		requireNothingLeft(t, e, s)
	})
}

// The end of ctx, of the engine and of the masters leaves no name contended for.
func TestSetOrPermitThatIsNotAcquiredLeavesNothing(t *testing.T) {
	names := numbered("name", 3)
	for key, acquire := range map[string]func(ctx context.Context, e *Engine) (held, error){
		names[1]:         func(ctx context.Context, e *Engine) (held, error) { return e.AcquireAll(ctx, names, 0) },
		keyOf(0, "name"): func(ctx context.Context, e *Engine) (held, error) { return e.AcquirePermit(ctx, "name", 1, 0) },
	} {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			for _, wait := range []time.Duration{0, time.Microsecond, 500 * time.Microsecond, 700 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond, time.Second} {
				for _, busy := range []string{"", "here", "there", "away"} {
					release := func() {}
					switch busy {
					case "here":
						mine, err := acquire(t.Context(), e)
						require.NoError(t, err)
						release = func() { require.NoError(t, mine.Release(t.Context())) }
					case "there":
						s.set(func() { s.keys[key] = scriptedKey{token: "of another process", ends: time.Now().Add(time.Hour)} })
					case "away":
						s.set(func() { s.away = true })
					}
					var all sync.WaitGroup
					for range 3 {
						all.Go(func() {
							ctx, cancel := context.WithTimeout(t.Context(), wait)
							defer cancel()
							got, err := acquire(ctx, e)
							if err == nil {
								require.NoError(t, got.Release(t.Context()))
							} else {
								require.ErrorIs(t, err, ErrNotAcquired)
								require.ErrorIs(t, err, context.DeadlineExceeded, "%v %s", wait, busy)
							}
						})
					}
					all.Wait()
					release()
					s.set(func() { s.away = false })
					s.drop(key)
					requireNothingLeft(t, e, s)
				}
			}
		})
	}
}

func TestSetIsNotHeldIfTooFewStoreAFenceOfIt(t *testing.T) {
	overFencedFakes(t, func(t *testing.T, f *fencedFakes) {
		f.spread([]string{"b"}, 0)
		for _, m := range f.masters {
			m.Answer(func(words []string) any {
				if words[0] == "EVALSHA" && words[1] == scripts.FencedExtend.SHA1 {
					return errors.New("ERR raises nothing")
				}
				return nil
			})
		}
		_, err := f.e.TryAcquireAll(t.Context(), []string{"a", "b"}, 0)
		require.ErrorIs(t, err, ErrNoQuorum)
		time.Sleep(time.Second)
		for _, m := range f.masters {
			require.Empty(t, m.Value("a")+m.Value("b"))
		}
	})
}

func TestSetIsAsGoodAsTheWorstOfItsLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		set := mustAcquireAll(t, e, "a", "b", "c")
		for i, l := range set.Locks() {
			require.NoError(t, l.Extend(t.Context(), time.Duration(20+i%2)*time.Second))
			l.lease.heldOn.Store(int32(9 - i%2))
		}
		require.Equal(t, set.Locks()[0].Until(), set.Until())
		require.True(t, set.Until().Before(set.Locks()[1].Until()))
		on, _ := set.HeldOn()
		require.Equal(t, 8, on)
	})
}

// A Set and many single locks of one process on many names: each shard is locked in order, so nobody waits for ever.
func TestSetsOfManyShardsDoNotBlockEachOther(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		names := numbered("name", 300)
		var all sync.WaitGroup
		for w := range 4 {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			all.Go(func() {
				for range 5 {
					mine := slices.Clone(names)
					random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
					set, err := e.AcquireAll(t.Context(), mine[:200], 0)
					if assert.NoError(t, err) {
						assert.NoError(t, set.Release(t.Context()))
					}
				}
			})
		}
		all.Wait()
		requireNothingLeft(t, e, s)
	})
}

func TestSetKeptAliveAgainAndAgainDoesNotGrow(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		set := mustAcquireAll(t, e, "a", "b")
		const calls = 50_000
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range calls {
			require.NoError(t, set.KeepAlive(time.Minute))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.NoError(t, set.Release(t.Context()))
		require.Less(t, int(after.HeapObjects)-int(before.HeapObjects), calls/2)
	})
}

// The holder that was seen is that of one name.
func TestSetThatIsKeptByAnotherNameForgetsWhoHadTheFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		hold := func(name string) {
			s.set(func() { s.keys = map[string]scriptedKey{name: {token: ours, ends: time.Now().Add(time.Hour)}} })
		}
		time.Sleep(50 * time.Millisecond)
		for _, name := range []string{"a", "b"} { // they had a turn, and look whose the name is
			shard := e.names.shard(name)
			shard.mu.Lock()
			shard.stateLocked(name, clock.Now()).strangers.yielded = clock.Now()
			shard.mu.Unlock()
		}
		hold("a")
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		go func() {
			time.Sleep(3 * time.Second)
			hold("b") // too late to look: none had a turn lately
		}()
		_, err := e.AcquireAll(ctx, []string{"a", "b"}, 0)
		require.ErrorContains(t, err, `"b"`)
		require.NotContains(t, err.Error(), "other")
	})
}
