package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/pipeline"
	"muxlock/scripts"
)

// These tests put a kept lock beside what nobody should do to its masters, and beside clients of other kinds.

// links gives an engine a link of its own to each master.
func (r *roll) links() ([]*faultconn.Link, func(*Config)) {
	var links []*faultconn.Link
	for range r.addresses {
		links = append(links, faultconn.NewLink())
	}
	return links, func(c *Config) {
		c.Client.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, s *tls.Config) (net.Conn, error) {
			return links[slices.Index(r.addresses, address)].DialBy(ctx, func(ctx context.Context) (net.Conn, error) {
				return r.servers[address].Dial(ctx, address, d, s)
			})
		}
	}
}

// askedFor counts how often a master is asked for the lock, plainly or with a fence.
func (r *roll) askedFor(i int) *atomic.Int64 {
	n := new(atomic.Int64)
	r.master(i).Answer(func(words []string) any {
		if words[0] == "SET" && words[1] == "lock" || words[0] == "EVALSHA" && words[1] == scripts.FencedAcquire.SHA1 && slices.Contains(words, "lock") {
			n.Add(1)
		}
		return nil
	})
	return n
}

// values returns what each master has under the lock's name.
func (r *roll) values() (values []string) {
	for i := range r.addresses {
		values = append(values, r.master(i).Value("lock"))
	}
	return values
}

func (r *roll) having(token string) (n int) {
	for _, v := range r.values() {
		if v == token {
			n++
		}
	}
	return n
}

// overEach runs a test of a roll without fencing and with it.
func overEach(t *testing.T, masters int, test func(t *testing.T, r *roll)) {
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprint("fenced ", fenced), func(t *testing.T) { overRoll(t, masters, fenced, test) })
	}
}

// waiting is the Acquire of another process, which has waited for a while.
func (r *roll) waiting(t *testing.T) <-chan *Lock {
	e, got := r.open(t), make(chan *Lock, 1)
	go func() {
		if lock, err := e.Acquire(t.Context(), "lock", 0); err == nil {
			got <- lock
		}
	}()
	time.Sleep(time.Second)
	return got
}

// healed waits until a master lacks the lock no more.
func (r *roll) healed(t *testing.T, lock *Lock, within time.Duration) {
	t.Helper()
	await.Within(t, within, func() bool { return r.onAll(lock) || !lock.Valid() })
	require.NoError(t, lock.Err())
}

func TestAKeyOfAnotherTypeInTheHealedPlaceStaysAndTheLockIsKept(t *testing.T) {
	overEach(t, 3, func(t *testing.T, r *roll) {
		var log bytes.Buffer
		e := r.open(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		lock := r.keeping(t, e)
		next := r.waiting(t) // it takes the key for readers
		asked := r.askedFor(0)
		r.master(0).Delete("lock")
		r.master(0).Do("HSET", "lock", "field", "value")
		renewed := e.Stats().Renewed
		time.Sleep(10 * time.Second)
		n, of := lock.HeldOn()
		require.Equal(t, []int{2, 3}, []int{n, of})
		require.NoError(t, lock.Err())
		require.Equal(t, 1, e.Stats().Eroded)
		require.Zero(t, e.Stats().Healed)
		require.LessOrEqual(t, asked.Load(), int64(e.Stats().Renewed-renewed+1)*(1+mostHealRetries))
		require.NoError(t, e.Stats().Masters[0].Cause)
		require.Zero(t, e.Stats().Masters[0].SetAside)
		require.Equal(t, 1, strings.Count(log.String(), "bare quorum"), log.String())
		require.Equal(t, "value", r.master(0).Do("HGET", "lock", "field"))

		require.NoError(t, lock.Release(t.Context()))
		released := time.Now()
		got := <-next
		require.Less(t, time.Since(released), 1100*time.Millisecond)
		require.NoError(t, got.Release(t.Context()))
		require.Zero(t, e.Stats().Masters[0].PendingReleases)
		require.Equal(t, "value", r.master(0).Do("HGET", "lock", "field"))
	})
}

func TestTheLocksOwnBytesThatSomebodyPutAreTheLock(t *testing.T) {
	overEach(t, 3, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		token := r.master(1).Value("lock")
		counts := func(i int) {
			require.True(t, r.onAll(lock))
			ends := r.master(i).Do("PTTL", "lock")
			require.Greater(t, ends, int64(0), "the extend gave it an end")
			require.LessOrEqual(t, ends, int64(2000))
		}
		r.master(0).Delete("lock")
		r.master(0).Set("lock", token) // for ever
		time.Sleep(time.Second)
		counts(0)
		r.master(1).Restart()
		time.Sleep(10 * time.Millisecond)
		r.master(1).Set("lock", token)
		time.Sleep(time.Second)
		require.Error(t, e.Stats().Masters[1].Cause, "it waits")
		if !r.fenced { // with fencing, no answer of a master counts that has no mark
			counts(1)
		}
		r.allVote()
		time.Sleep(time.Second)
		counts(1)
		require.Zero(t, e.Stats().Healed)
		require.NoError(t, lock.Release(t.Context()))
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, []string{"", "", ""}, r.values())
	})
}

// A heal is on its way to the masters that lost the lock while an operator releases the lock by force.
func TestAForcedReleaseIsNotUndoneByAHealOnItsWay(t *testing.T) {
	for _, masters := range []int{3, 5} {
		overEach(t, masters, func(t *testing.T, r *roll) {
			links, over := r.links()
			e, operator, other := r.open(t, over), r.open(t), r.open(t)
			lock := r.keeping(t, e)
			token := r.master(0).Value("lock")
			lost := masters / 2
			for i := range lost {
				r.master(i).Delete("lock")
				links[i].DelayRequests(50 * time.Millisecond)
			}
			e.keeper.untilUnderWay()
			n, err := Admin.ForceRelease(t.Context(), operator, "lock")
			require.NoError(t, err)
			require.Equal(t, masters-lost, n)
			forced := time.Now()
			time.Sleep(60 * time.Millisecond)
			require.Equal(t, lost, r.having(token), "the heal came later")
			next, err := other.TryAcquire(t.Context(), "lock", 0)
			require.NoError(t, err, "it keeps nobody from the lock")
			require.NoError(t, next.KeepAlive(0))
			await.Within(t, 2*time.Second/3+200*time.Millisecond-time.Since(forced), func() bool { return !lock.Valid() }, "the next renewal")
			require.ErrorIs(t, lock.Err(), ErrNotHeld)
			time.Sleep(200 * time.Millisecond)
			for range 500 {
				require.Zero(t, r.having(token))
				time.Sleep(10 * time.Millisecond)
			}
			require.NoError(t, next.Release(t.Context()))
		})
	}
}

func TestAForcedReleaseWhileMastersRestartIsNotUndone(t *testing.T) {
	for _, masters := range []int{3, 5} {
		for _, when := range []time.Duration{-100 * time.Millisecond, 0, 10 * time.Millisecond, 300 * time.Millisecond} {
			t.Run(fmt.Sprint(masters, " ", when), func(t *testing.T) {
				overEach(t, masters, func(t *testing.T, r *roll) {
					e, operator := r.open(t), r.open(t)
					lock := r.keeping(t, e)
					token := r.master(0).Value("lock")
					restart := func() {
						for i := range masters / 2 {
							r.master(i).Restart()
						}
					}
					if when < 0 {
						restart()
						time.Sleep(-when)
					}
					_, err := Admin.ForceRelease(t.Context(), operator, "lock")
					require.NoError(t, err)
					forced := time.Now()
					if when >= 0 {
						time.Sleep(when)
						restart()
					}
					await.Within(t, 2*time.Second/3+100*time.Millisecond-time.Since(forced), func() bool { return !lock.Valid() }, "the next renewal")
					require.ErrorIs(t, lock.Err(), ErrNotHeld)
					for range 500 { // all vote meanwhile
						require.Zero(t, r.having(token))
						time.Sleep(10 * time.Millisecond)
					}
					require.Zero(t, e.Stats().Healed)
				})
			})
		}
	}
}

// The operator does not reach a master, and a heal is on its way to another: with it the lock has a quorum. The operator is
// told, and the deletion follows when the master is reached.
func TestAForcedReleaseThatIsNotConfirmedMayBeSurvived(t *testing.T) {
	overEach(t, 3, func(t *testing.T, r *roll) {
		links, over := r.links()
		reach, byOperator := r.links()
		e, operator := r.open(t, over), r.open(t, byOperator)
		lock := r.keeping(t, e)
		reach[2].RefuseDials(true)
		reach[2].Cut()
		time.Sleep(time.Second)
		links[0].DelayRequests(50 * time.Millisecond)
		r.master(0).Delete("lock")
		e.keeper.untilUnderWay()
		_, err := Admin.ForceRelease(t.Context(), operator, "lock")
		require.ErrorIs(t, err, ErrNoQuorum)
		time.Sleep(3 * time.Second)
		require.NoError(t, lock.Err())
		require.Equal(t, 3, r.having(lock.lease.token))
		reach[2].RefuseDials(false) // the deletion of the last one follows
		time.Sleep(3 * time.Second)
		require.NoError(t, lock.Err())
		n, err := Admin.ForceRelease(t.Context(), operator, "lock")
		require.NoError(t, err)
		require.Equal(t, 3, n)
		await.Within(t, time.Second, func() bool { return !lock.Valid() })
	})
}

// untilUnderWay waits until a heal is on its way: the masters that lack the lock are far, and not all have answered.
func (k *keeper) untilUnderWay() {
	for under := false; !under; time.Sleep(time.Millisecond) {
		k.mu.Lock()
		for _, x := range k.eroded {
			under = under || x.lacks != 0 && x.gone == 0
		}
		k.mu.Unlock()
	}
}

// The other process has the token while a heal is on its way, and releases the lock at once.
func TestAHealThatFollowsTheReleaseOfARevealedLockIsUndone(t *testing.T) {
	overEach(t, 3, func(t *testing.T, r *roll) {
		links, over := r.links()
		e, other := r.open(t, over), r.open(t)
		lock := r.keeping(t, e)
		links[0].DelayRequests(50 * time.Millisecond)
		r.master(0).Delete("lock")
		e.keeper.untilUnderWay()
		adopted, err := other.Adopt(t.Context(), "lock", lock.Reveal(), 0)
		require.NoError(t, err)
		require.NoError(t, adopted.Release(t.Context()))
		await.Within(t, 100*time.Millisecond, func() bool { return r.master(0).Value("lock") != "" }, "the heal came later")
		await.Within(t, 150*time.Millisecond, func() bool { return r.master(0).Value("lock") == "" }, "before the next renewal")
		require.ErrorIs(t, lock.Err(), ErrNotHeld)
	})
}

// Another server stands at the address of a master: it has run for a year, and has no data.
func TestAServerInTheMastersPlaceIsNotHealedBeforeItVotes(t *testing.T) {
	overEach(t, 3, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		for i := range r.addresses {
			r.master(i).Restart()
			r.master(i).Clock(365*24*time.Hour, 0)
			replaced := time.Now()
			time.Sleep(10 * time.Millisecond)
			await.Within(t, 5*time.Second, func() bool {
				votes := e.Stats().Masters[i].Cause == nil
				require.True(t, votes || r.master(i).Value("lock") == "")
				return votes
			})
			require.Greater(t, time.Since(replaced), 2*time.Second, "MaxTTL")
			r.healed(t, lock, 500*time.Millisecond)
		}
		require.NoError(t, lock.Err())
		require.EqualValues(t, 3, e.Stats().Healed)
	})
}

// An operator replaces a member of the set for good. Processes that are configured with the former set lose their locks: no
// answer counts for them. They heal nothing, least of all the new member.
func TestALockOfTheFormerSetIsNotHealedAtTheNewMember(t *testing.T) {
	overRoll(t, 4, false, func(t *testing.T, r *roll) {
		all := r.addresses
		r.addresses, r.fenced = all[:3], true
		require.NoError(t, Admin.SetUp(t.Context(), r.config(), SetUpOptions{MastersAreNew: true}))
		e := r.open(t)
		lock := r.keeping(t, e)
		token := lock.lease.token
		require.NoError(t, Admin.ReplaceMaster(t.Context(), r.config(), all[0], all[3]))
		r.addresses = all[1:]
		next := make(chan *Lock, 1)
		other := r.open(t)
		go func() {
			if lock, err := other.Acquire(t.Context(), "lock", 0); err == nil {
				next <- lock
			}
		}()
		await.Within(t, 3*time.Second, func() bool {
			require.Empty(t, next)
			require.NotEqual(t, token, r.servers[all[3]].Value("lock"))
			return !lock.Valid()
		})
		ended := time.Now()
		require.WithinDuration(t, lock.Until(), ended, 2*time.Millisecond)
		require.ErrorIs(t, lock.Err(), ErrExpired)
		after := <-next
		require.Less(t, time.Since(ended), 1100*time.Millisecond)
		require.Greater(t, after.Fence(), lock.Fence())
		require.Zero(t, e.Stats().Healed)
		time.Sleep(5 * time.Second)
		for _, address := range all {
			require.NotEqual(t, token, r.servers[address].Value("lock"))
		}
	})
}

// A master comes back with old data: of another's lock that was released since, or of this one.
func TestAMasterThatComesBackWithOldDataIsHealed(t *testing.T) {
	for _, of := range []string{"another's lock", "another's lock without an end", "this lock", "this lock, long ago"} {
		t.Run(of, func(t *testing.T) {
			overEach(t, 3, func(t *testing.T, r *roll) {
				e, other := r.open(t), r.open(t)
				before, err := other.Acquire(t.Context(), "lock", 0)
				require.NoError(t, err)
				synctest.Wait() // all have it
				old := r.master(0).Snapshot()
				if of == "another's lock without an end" {
					forever := r.master(0).Value("lock")
					r.master(0).Set("lock", forever)
					old = r.master(0).Snapshot()
				}
				require.NoError(t, before.Release(t.Context()))
				synctest.Wait()
				lock := r.keeping(t, e)
				if strings.HasPrefix(of, "this lock") {
					old = r.master(0).Snapshot()
				}
				if of == "this lock, long ago" {
					time.Sleep(5 * time.Second)
				}
				last := lock.Fence()
				for i := range r.addresses {
					r.master(i).RestartWith(old)
					time.Sleep(10 * time.Millisecond)
					await.Within(t, 5*time.Second, func() bool { return e.Stats().Masters[i].Cause == nil })
					if of == "another's lock without an end" {
						time.Sleep(time.Second)
						require.NotEqual(t, lock.lease.token, r.master(i).Value("lock"))
						n, _ := lock.HeldOn()
						require.Equal(t, 2, n)
						require.Equal(t, 1, e.Stats().Eroded)
						r.master(i).Delete("lock")
						time.Sleep(500 * time.Millisecond)
					}
					r.healed(t, lock, 500*time.Millisecond)
				}
				require.NoError(t, lock.Err())
				require.NoError(t, lock.Release(t.Context()))
				next, err := other.Acquire(t.Context(), "lock", 0)
				require.NoError(t, err)
				if r.fenced {
					require.Greater(t, next.Fence(), last)
				}
				require.NoError(t, next.Release(t.Context()))
			})
		})
	}
}

// The clocks of masters run faster or slower, as far as Config.Drift allows.
func TestClocksAtTheEdgeOfDriftKeepTheLockAndNoSecondHolder(t *testing.T) {
	const drift = 0.01
	for what, rates := range map[string][]float64{"all fast": {drift, drift, drift}, "all slow": {-drift, -drift, -drift}, "apart": {drift, -drift, 0}} {
		t.Run(what, func(t *testing.T) {
			overEach(t, 3, func(t *testing.T, r *roll) {
				e := r.open(t)
				for i, rate := range rates {
					r.master(i).Clock(0, rate)
				}
				lock := r.keeping(t, e)
				for range 3 {
					r.restartEach(func() { r.healed(t, lock, 500*time.Millisecond) })
				}
				// The holder stops after the last heal: its key ends last.
				r.master(0).Delete("lock")
				await.Within(t, time.Second, func() bool { return r.onAll(lock) && r.having(lock.lease.token) == 3 })
				require.NoError(t, lock.KeepAlive(time.Nanosecond))
				other := r.open(t)
				await.Within(t, 3*time.Second, func() bool {
					next, err := other.TryAcquire(t.Context(), "lock", 0)
					if err != nil {
						return false
					}
					require.False(t, lock.Valid())
					require.Less(t, time.Since(lock.Until()), 200*time.Millisecond)
					require.NoError(t, next.Release(t.Context()))
					return true
				})
			})
		})
	}
}

// dies cuts an engine off for good.
func dies(links []*faultconn.Link) {
	for _, l := range links {
		l.RefuseDials(true)
		l.Cut()
	}
}

// A holder dies just after heals. So its keys end apart, and at some masters somebody else's key was in the way.
func TestWhenTheKeysOfADeadHolderEndApartTheNextFollowsAQuorumOfThem(t *testing.T) {
	for _, masters := range []int{3, 5} {
		for _, waiters := range []int{1, 20} {
			var waits []time.Duration
			for seed := range uint64(4) {
				drawn := seed < 2
				overRoll(t, masters, seed%2 == 1, func(t *testing.T, r *roll) {
					rng := rand.New(rand.NewPCG(seed, 0))
					links, over := r.links()
					lock := r.keeping(t, r.open(t, over))
					token := lock.lease.token
					got := make(chan *Lock, waiters)
					for range waiters {
						paths, over := r.links()
						for _, p := range paths {
							p.DelayRequests(time.Duration(100+rng.IntN(9900)) * time.Microsecond)
						}
						e := r.open(t, over)
						go func() {
							if l, err := e.Acquire(t.Context(), "lock", 0); err == nil {
								got <- l
							}
						}()
					}
					time.Sleep(time.Second)
					lost := rng.Perm(masters)[:masters/2]
					for _, i := range lost {
						r.master(i).Do("SET", "lock", "somebody else's")
					}
					await.Within(t, time.Second, func() bool { return !r.onAll(lock) })
					for _, i := range lost {
						time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
						r.master(i).Delete("lock")
					}
					time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
					died := time.Now()
					dies(links)
					if drawn {
						for i := range masters {
							r.master(i).Delete("lock")
							r.master(i).Do("SET", "lock", token, "NX", "PX", fmt.Sprint(1+rng.IntN(2000)))
						}
					}
					var ends []time.Duration
					for i := range masters {
						left, _ := r.master(i).Do("PTTL", "lock").(int64)
						if r.master(i).Value("lock") != token {
							left = 0
						}
						ends = append(ends, time.Duration(left)*time.Millisecond)
					}
					slices.Sort(ends)
					free := died.Add(ends[masters/2])
					await.Within(t, 4*time.Second, func() bool { return len(got) > 0 })
					next := <-got
					require.True(t, drawn || !time.Now().Before(lock.Until()), "the dead holder is valid")
					waits = append(waits, time.Since(free))
					require.Less(t, time.Since(free), 1100*time.Millisecond, "seed %d: %v", seed, ends)
					for range waiters - 1 {
						require.NoError(t, next.Release(t.Context()))
						released := time.Now()
						next = <-got
						require.Less(t, time.Since(released), 1100*time.Millisecond)
					}
					require.NoError(t, next.Release(t.Context()))
				})
			}
			slices.Sort(waits)
			require.Less(t, waits[len(waits)/2], 40*time.Millisecond)
		}
	}
}

// An older is a waiter of an engine that makes no room, as the masters see it: it asks to be granted whatever it was answered,
// and keeps what it is granted beside somebody's lock.
type older struct {
	r     *roll
	token string
	has   []time.Time // until when, by master
}

// ask asks each master that votes, and reports whether a quorum has granted.
func (o *older) ask(voting []MasterStats, waited time.Duration) (holds bool) {
	n := 0
	for i, m := range voting {
		if m.Cause != nil {
			o.has[i] = time.Time{}
			continue
		}
		for _, joins := range []string{"", fmt.Sprint(waited.Milliseconds())} {
			sent := time.Now()
			reply, _ := o.r.master(i).Do("EVALSHA", scripts.Wait.SHA1, "3", "lock", pipeline.ReservedPrefix+"q:lock", pipeline.ReservedPrefix+"w:lock",
				o.token, "1", "1333", "1000", "nobody", "-", joins, "0", "2000").(string)
			if strings.HasPrefix(reply, "g") {
				o.has[i] = sent.Add(2 * time.Second)
			}
			if reply != "x" {
				break
			}
		}
		if time.Now().Before(o.has[i]) {
			n++
		}
	}
	return n > len(voting)/2
}

func TestAWaiterThatMakesNoRoomIsNoSecondHolder(t *testing.T) {
	kept := 0
	for seed := range uint64(20) {
		overRoll(t, 3, false, func(t *testing.T, r *roll) {
			rng := rand.New(rand.NewPCG(seed, 0))
			e := r.open(t)
			lock := r.keeping(t, e)
			r.waiting(t) // this one makes room
			var all []*older
			for i := range 3 {
				all = append(all, &older{r: r, token: fmt.Sprintf("%s%d", ours, i), has: make([]time.Time, 3)})
			}
			begun := time.Now()
			restart := begun.Add(time.Duration(rng.IntN(4000)) * time.Millisecond)
			for ; time.Since(begun) < 20*time.Second && lock.Valid(); time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond) {
				masters := e.Stats().Masters
				if all[rng.IntN(len(all))].ask(masters, time.Since(begun)) {
					require.False(t, lock.Valid(), "seed %d", seed)
				}
				if time.Now().After(restart) {
					r.master(rng.IntN(3)).Restart()
					restart = time.Now().Add(time.Duration(300+rng.IntN(5000)) * time.Millisecond)
					time.Sleep(10 * time.Millisecond) // all have seen it
				}
			}
			if lock.Valid() {
				kept++
			}
		})
	}
	t.Logf("kept %d of 20 times", kept)
	require.NotZero(t, kept)
}

// As a holder of an older version, one whose token is known heals nothing. Waiters leave it its masters until it has lost a
// majority, and hold no sooner than it has noticed.
func TestTheNextOfAHolderThatDoesNotHealHoldsOnceItIsLost(t *testing.T) {
	overEach(t, 3, func(t *testing.T, r *roll) {
		e := r.open(t)
		lock := r.keeping(t, e)
		lock.Reveal()
		served := make(chan bool, 4)
		for range 4 {
			waiter := r.open(t)
			go func() {
				if l, err := waiter.Acquire(t.Context(), "lock", 0); err == nil {
					served <- lock.Valid()
					_ = l.Release(t.Context())
				}
			}()
		}
		time.Sleep(time.Second)
		for i := range 2 {
			require.NoError(t, lock.Err())
			r.master(i).Restart()
			time.Sleep(10 * time.Millisecond)
			r.allVote()
			time.Sleep(2 * time.Second)
		}
		require.ErrorIs(t, lock.Err(), ErrExpired)
		for range 4 {
			require.False(t, <-served, "two hold")
		}
	})
}
