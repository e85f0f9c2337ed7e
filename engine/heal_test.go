package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisfake"
	"muxlock/internal/testing/await"
	"muxlock/pipeline"
)

// A roll is masters in a bubble that are restarted one after another, each when all vote.
type roll struct {
	*fakes
	fenced  bool
	engines []*Engine
}

func overRoll(t *testing.T, masters int, fenced bool, test func(t *testing.T, r *roll)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &roll{fakes: newFakes(t, masters), fenced: fenced}
		if fenced {
			require.NoError(t, Admin.SetUp(t.Context(), r.config(), SetUpOptions{MastersAreNew: true}))
		}
		test(t, r)
	})
}

func (r *roll) config() Config {
	cfg := Config{Masters: r.addresses, MaxTTL: 2 * time.Second, TTL: 2 * time.Second}
	cfg.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		return r.servers[address].Dial(ctx, address, d, c)
	}
	return cfg
}

func (r *roll) open(t *testing.T, changes ...func(*Config)) *Engine {
	cfg := r.config()
	cfg.Fencing, cfg.MastersAreNew = r.fenced, !r.fenced
	e, err := New(t.Context(), with(cfg, changes...))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	r.engines = append(r.engines, e)
	return e
}

func (r *roll) master(i int) *redisfake.Server { return r.servers[r.addresses[i]] }

// allVote waits until all masters vote, as the engines see it.
func (r *roll) allVote() {
	for _, e := range r.engines {
		for slices.ContainsFunc(e.Stats().Masters, func(m MasterStats) bool { return m.Cause != nil }) {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// restartEach restarts each master, empty, when all vote.
func (r *roll) restartEach(after func()) {
	for i := range r.addresses {
		r.master(i).Restart()
		time.Sleep(10 * time.Millisecond) // all engines have seen it
		r.allVote()
		after()
	}
}

func (r *roll) outageOfEach(after func()) {
	for i := range r.addresses {
		r.master(i).Down()
		time.Sleep(5 * time.Second)
		r.master(i).Up()
		r.allVote()
		after()
	}
}

type kept interface {
	Err() error
	HeldOn() (int, int)
	KeepAlive(time.Duration) error
}

func TestKeptLocksOutlastTheLossOfEveryMaster(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		for _, masters := range []int{3, 5} {
			for what, lose := range map[string]func(*roll, func()){"restarts": (*roll).restartEach, "outages": (*roll).outageOfEach} {
				t.Run(fmt.Sprintf("fenced %v/%d masters/%s", fenced, masters, what), func(t *testing.T) {
					overRoll(t, masters, fenced, func(t *testing.T, r *roll) {
						e, ctx := r.open(t), t.Context()
						all := map[string]kept{}
						acquire := func(what string, l kept, err error) {
							require.NoError(t, err, what)
							require.NoError(t, l.KeepAlive(0))
							all[what] = l
						}
						lock, err := e.Acquire(ctx, "lock", 0)
						acquire("lock", lock, err)
						one, err := e.AcquireShared(ctx, "read", 0)
						acquire("reader", one, err)
						other, err := r.open(t).AcquireShared(ctx, "read", 0)
						acquire("another reader", other, err)
						set, err := e.AcquireAll(ctx, []string{"one", "two"}, 0)
						acquire("set", set, err)
						permit, err := e.AcquirePermit(ctx, "permit", 3, 0)
						acquire("permit", permit, err)
						for range 3 {
							lose(r, func() {
								seen := time.Now()
								for what, l := range all {
									for n, of := l.HeldOn(); n < of && time.Since(seen) < 500*time.Millisecond; n, of = l.HeldOn() {
										time.Sleep(time.Millisecond)
									}
									n, of := l.HeldOn()
									require.NoError(t, l.Err(), what)
									require.Equal(t, of, n, what)
								}
							})
						}
						require.NoError(t, lock.Release(ctx))
						require.NoError(t, set.Release(ctx))
						require.NoError(t, permit.Release(ctx))
						require.NoError(t, one.Release(ctx))
						require.NoError(t, other.Release(ctx))
						synctest.Wait()
						for i := range r.addresses {
							require.Empty(t, slices.DeleteFunc(r.master(i).Keys(), func(key string) bool { return strings.HasPrefix(key, pipeline.ReservedPrefix) }), "master %d", i)
						}
					})
				})
			}
		}
	}
}

// keeping is a kept lock that all masters have.
func (r *roll) keeping(t *testing.T, e *Engine) *Lock {
	lock := mustAcquire(t, e, "lock", 0)
	require.NoError(t, lock.KeepAlive(0))
	time.Sleep(time.Second)
	n, of := lock.HeldOn()
	require.Equal(t, of, n)
	return lock
}

func (r *roll) onAll(lock *Lock) bool { n, of := lock.HeldOn(); return n == of }

// What a lock costs that all masters have is what it cost before locks were healed.
func TestAKeptLockThatAllMastersHaveCostsOneCommandForEachRenewal(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		overRoll(t, 3, fenced, func(t *testing.T, r *roll) {
			e := r.open(t)
			r.allVote()
			var mu sync.Mutex // guards the following
			sent := make(map[string]int)
			for _, m := range r.servers {
				m.Answer(func(words []string) any {
					if words[0] != "INFO" { // the engine looks whether the master is still one
						mu.Lock()
						defer mu.Unlock()
						sent[words[0]]++
					}
					return nil
				})
			}
			lock := mustAcquire(t, e, "name", 0)
			require.NoError(t, lock.KeepAlive(0))
			time.Sleep(time.Minute)
			require.NoError(t, lock.Release(t.Context()))
			time.Sleep(time.Second)
			n := int(e.Stats().Renewed)
			require.Greater(t, n, 60)
			mu.Lock()
			defer mu.Unlock()
			want := map[string]int{"SET": 3, "EVALSHA": 3 * (n + 1)}
			if fenced { // a script acquires, too
				want = map[string]int{"EVALSHA": 3 * (n + 2)}
			}
			require.Equal(t, want, sent)
		})
	}
}

func TestNothingIsHealedAtAMasterThatDoesNotVote(t *testing.T) {
	overRoll(t, 3, false, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		r.master(0).Restart()
		time.Sleep(10 * time.Millisecond)
		for range 100 { // some 2 s; it waits for 2.4
			require.Empty(t, r.master(0).Value("lock"))
			require.NotNil(t, e.Stats().Masters[0].Cause)
			time.Sleep(20 * time.Millisecond)
		}
		require.Zero(t, e.Stats().Healed)
		require.Zero(t, e.Stats().Eroded, "it does not vote")
		require.True(t, lock.Valid())
		await.Within(t, 5*time.Second, func() bool { return e.Stats().Masters[0].Cause == nil })
		require.Equal(t, 1, e.Stats().Eroded)
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, r.master(1).Value("lock"), r.master(0).Value("lock"))
		require.EqualValues(t, 1, e.Stats().Healed)
		require.Zero(t, e.Stats().Eroded)
	})
}

func TestALockWhoseTokenOthersKnowIsNotHealed(t *testing.T) {
	overRoll(t, 3, false, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		adopted, err := r.open(t).Adopt(t.Context(), "lock", lock.Reveal(), 0)
		require.NoError(t, err)
		require.NoError(t, adopted.KeepAlive(0))
		r.master(0).Delete("lock")
		time.Sleep(5 * time.Second)
		require.True(t, lock.Valid())
		require.True(t, adopted.Valid())
		require.Empty(t, r.master(0).Value("lock"))
	})
}

func TestARefusedHealIsTriedAgainSoon(t *testing.T) {
	overRoll(t, 3, false, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		r.master(0).Do("SET", "lock", "of somebody else")
		await.True(t, func() bool { return !r.onAll(lock) })
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, "of somebody else", r.master(0).Value("lock"))
		r.master(0).Delete("lock")
		deleted := time.Now()
		await.True(t, func() bool { return r.onAll(lock) })
		require.Less(t, time.Since(deleted), 250*time.Millisecond, "before the next renewal")
	})
}

// One master hangs and one has lost the key, so no quorum confirms the renewal. The healed master makes one at once.
func TestAHealThatMakesAQuorumIsFollowedByARenewal(t *testing.T) {
	overRoll(t, 3, false, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		until := lock.Until()
		r.master(0).Slow(time.Hour)
		r.master(1).Delete("lock")
		await.True(t, func() bool { return e.Stats().RenewalsFailed > 0 })
		failed := time.Now()
		await.True(t, func() bool { return !lock.Until().Equal(until) })
		require.Less(t, time.Since(failed), 20*time.Millisecond, "before the next try")
		r.master(0).Slow(0)
	})
}

// The masters of a quorum grant the heal, but answer no extend.
func TestAHealMovesNoValidity(t *testing.T) {
	overRoll(t, 3, false, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		until := lock.Until()
		r.master(0).Slow(time.Hour)
		r.master(1).Delete("lock")
		r.master(1).Answer(func(words []string) any {
			if healed := e.Stats().Healed > 0; healed && words[0] == "EVALSHA" {
				return errors.New("ERR not now")
			}
			return nil
		})
		<-lock.Done()
		require.EqualValues(t, 1, e.Stats().Healed)
		require.Equal(t, until, lock.Until())
		r.master(0).Slow(0)
		r.master(1).Answer(nil)
	})
}

// Its next holder does not ask the master that is left in vain all the while.
func TestALockOfAMajorityThatRestartedIsLostWithItsValidity(t *testing.T) {
	overRoll(t, 3, false, func(t *testing.T, r *roll) {
		lock, other := r.keeping(t, r.open(t)), r.open(t)
		r.master(0).Restart()
		r.master(1).Restart()
		asked, next := r.askedFor(2), make(chan error)
		go func() { _, err := other.Acquire(t.Context(), "lock", 0); next <- err }()
		<-lock.Done()
		require.ErrorIs(t, lock.Err(), ErrExpired)
		require.ErrorIs(t, lock.Err(), ErrNoQuorum)
		require.NotErrorIs(t, lock.Err(), ErrNotHeld)
		require.WithinDuration(t, lock.Until(), time.Now(), 10*time.Millisecond)
		require.NoError(t, <-next)
		require.Less(t, asked.Load(), int64(10))
	})
}

func TestAYoungLockIsNotHealed(t *testing.T) {
	overRoll(t, 3, false, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := mustAcquire(t, e, "lock", 0)
		synctest.Wait() // a quorum was enough for Acquire
		r.master(0).Delete("lock")
		extend := func() {
			require.NoError(t, lock.Extend(t.Context(), 0))
			time.Sleep(50 * time.Millisecond)
		}
		extend()
		require.Zero(t, e.Stats().Healed)
		time.Sleep(500 * time.Millisecond)
		extend()
		require.EqualValues(t, 1, e.Stats().Healed)
	})
}

// Processes stand in line for a kept lock while its masters are restarted. They make room for it, so that it regains the
// masters, and are served once it is released.
func TestAKeptLockOutlastsTheLossOfEveryMasterBesideWaiters(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		for waiters, masters := range map[int]int{1: 5, 8: 3} {
			for what, lose := range map[string]func(*roll, func()){"restarts": (*roll).restartEach, "outages": (*roll).outageOfEach} {
				t.Run(fmt.Sprintf("fenced %v/%d masters/%d waiters/%s", fenced, masters, waiters, what), func(t *testing.T) {
					overRoll(t, masters, fenced, func(t *testing.T, r *roll) {
						lock := r.keeping(t, r.open(t))
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						got := make(chan *Lock, waiters)
						for range waiters {
							waiter := r.open(t)
							go func() {
								if l, err := waiter.Acquire(ctx, "lock", 0); err == nil {
									got <- l
								}
							}()
						}
						time.Sleep(time.Second)
						for range 2 {
							lose(r, func() {
								for seen := time.Now(); !r.onAll(lock) && time.Since(seen) < 500*time.Millisecond; {
									time.Sleep(10 * time.Millisecond)
								}
								n, of := lock.HeldOn()
								require.NoError(t, lock.Err())
								require.Equal(t, of, n)
							})
						}
						require.Empty(t, got)
						require.NoError(t, lock.Release(t.Context()))
						released := time.Now()
						for range waiters {
							next := <-got
							require.Less(t, time.Since(released), 1100*time.Millisecond)
							require.NoError(t, next.Release(t.Context()))
							released = time.Now()
						}
					})
				})
			}
		}
	}
}

func TestAHealOfALeaseThatRanOutMeanwhileIsUndone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		lock := mustAcquire(t, e, "name", time.Second)
		<-lock.Done()
		e.keeper.answer(answer{count: &count{l: lock.lease, x: &erosion{l: lock.lease}, granted: 1}})
		time.Sleep(time.Second)
		require.Equal(t, 1, s.count(pipeline.Release))
	})
}
