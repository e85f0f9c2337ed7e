package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
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
