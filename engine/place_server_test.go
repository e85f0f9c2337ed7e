package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// linesOf waits until the engines have lines.
func linesOf(t testing.TB, engines ...*Engine) {
	t.Helper()
	for _, e := range engines {
		await.True(t, func() bool { return e.masters.pipe.Lines(t.Context()) }, "a quorum has lines")
	}
}

// inLine returns how many tokens stand in line for a name, at the master that has most.
func inLine(t testing.TB, masters []*redisserver.Server, name string) (most int64) {
	t.Helper()
	for _, m := range masters {
		for _, key := range []string{"__muxlock__:q:", "__muxlock__:Q:"} {
			n, _ := redistest.Command(t, m, "ZCARD", key+name).(int64)
			most = max(most, n)
		}
	}
	return most
}

// goInLine starts an Acquire in each engine, one after the other, and returns once all stand in line. A lock that is
// acquired sends the number of its engine.
func goInLine(t testing.TB, ctx context.Context, masters []*redisserver.Server, name string, engines ...*Engine) <-chan *Lock {
	t.Helper()
	got := make(chan *Lock, len(engines))
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for i, e := range engines {
		all.Go(func() {
			if lock, err := e.Acquire(ctx, name, 0); err == nil {
				got <- lock
			}
		})
		await.Equal(t, int64(i)+1, func() any { return inLine(t, masters, name) }, "engine %d stands in line", i)
	}
	return got
}

// releaseToNext releases a lock that is not left open to strangers, however long it was held.
func releaseToNext(t testing.TB, lock *Lock) {
	t.Helper()
	lock.lease.term.Since = clock.Now().Add(time.Hour)
	require.NoError(t, lock.Release(t.Context()))
}

func TestProcessesGetANameInOrderOfArrivalWithoutARequestOfTheirs(t *testing.T) {
	for _, fencing := range []bool{false, true} {
		t.Run(fmt.Sprint("fencing ", fencing), func(t *testing.T) {
			masters, how := redistest.Masters(t, 5), func(*Config) {}
			if fencing {
				masters, how = fencedSet(t, 5), fenced
			}
			var engines []*Engine
			for i := range 5 {
				engines = append(engines, open(t, masters, holder(fmt.Sprint("process ", i)), how))
			}
			linesOf(t, engines...)
			lock, err := engines[0].Acquire(t.Context(), "n", 0)
			require.NoError(t, err)
			lock.lease.state.stoodInLine(clock.Instant{}, nil) // as after a turn in line
			got := goInLine(t, t.Context(), masters, "n", engines[1:]...)
			shown, err := Admin.Inspect(t.Context(), engines[0], "n")
			require.NoError(t, err)
			require.Equal(t, 4, shown.Waiting)
			require.Equal(t, "process 1", shown.Next)
			for i, e := range engines[1:] {
				rounds, fence := e.Stats().Rounds, lock.Fence()
				releaseToNext(t, lock)
				lock = <-got
				require.Same(t, e, lock.lease.e, "place %d", i)
				require.LessOrEqual(t, e.Stats().Rounds, rounds+1, "at most the renewal of a short lease")
				if fencing {
					require.Greater(t, lock.Fence(), fence)
				}
				require.EqualValues(t, 1, engines[i].Stats().PassedOn)
			}
			require.NoError(t, lock.Release(t.Context()))
			require.Zero(t, engines[4].Stats().PassedOn, "nobody is in line")
			redistest.Gone(t, masters, "n", "__muxlock__:q:n", "__muxlock__:w:n", "__muxlock__:Q:n", "__muxlock__:W:n")
		})
	}
}

func TestWhoLeavesTheLineLeavesNothingBehindAndTheNextIsServed(t *testing.T) {
	for name, leave := range map[string]func(e *Engine, cancel func()){
		"ctx ends": func(_ *Engine, cancel func()) { cancel() },
		"Close":    func(e *Engine, _ func()) { _ = e.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			masters := redistest.Masters(t, 3)
			first, second, third := open(t, masters), open(t, masters), open(t, masters)
			linesOf(t, first, second, third)
			lock, err := first.Acquire(t.Context(), "n", 0)
			require.NoError(t, err)
			lock.lease.state.stoodInLine(clock.Instant{}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() { _, err := second.Acquire(ctx, "n", 0); failed <- err }()
			await.Equal(t, 1, func() any { return inLine(t, masters, "n") })
			got := make(chan *Lock, 1)
			go func() { lock, _ := third.Acquire(t.Context(), "n", 0); got <- lock }()
			await.Equal(t, 2, func() any { return inLine(t, masters, "n") })
			leave(second, cancel)
			err = <-failed
			require.ErrorIs(t, err, map[string]error{"ctx ends": context.Canceled, "Close": ErrClosed}[name])
			if name == "ctx ends" {
				require.ErrorIs(t, err, ErrTaken)
			}
			await.Equal(t, 1, func() any { return inLine(t, masters, "n") }, "it is out of line")
			releaseToNext(t, lock)
			lock = <-got
			require.EqualValues(t, 1, first.Stats().PassedOn)
			require.NoError(t, lock.Release(t.Context()))
			redistest.Gone(t, masters, "n", "__muxlock__:q:n", "__muxlock__:w:n")
		})
	}
}

func TestWhatIsInThePlaceOfALineKeepsNobodyFromTheLock(t *testing.T) {
	masters := redistest.Masters(t, 3)
	for _, key := range []string{"__muxlock__:q:n", "__muxlock__:w:n"} {
		redistest.Put(t, masters, key, "of another type")
		first, second := open(t, masters), open(t, masters)
		linesOf(t, first, second)
		lock := mustAcquire(t, first, "n", 0)
		lock.lease.state.stoodInLine(clock.Instant{}, nil)
		got := make(chan *Lock, 1)
		go func() { lock, _ := second.Acquire(t.Context(), "n", 0); got <- lock }()
		await.True(t, func() bool { return second.Stats().NoQuorum > 0 }, "it cannot stand in line")
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, (<-got).Release(t.Context()))
		require.Zero(t, setAside(second, 0)+setAside(first, 0))
		redistest.Delete(t, masters, key)
	}
}

func TestWaiterWhoseConnectionsWereReplacedHasItsQuorum(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	first := open(t, masters)
	second, links := bent(t, masters)
	linesOf(t, first, second)
	lock := mustAcquire(t, first, "n", 0)
	got := goInLine(t, t.Context(), masters, "n", second)
	for i := range links { // one after the other: a quorum is up all the time
		times := setAside(second, i)
		links[i].Cut()
		await.True(t, func() bool { return setAside(second, i) > times && second.Stats().Masters[i].Up })
	}
	asked := second.Stats().Requests
	await.True(t, func() bool { return second.Stats().Requests > asked })
	require.NoError(t, lock.Release(t.Context()))
	require.NoError(t, (<-got).Release(t.Context()))
	require.Zero(t, second.Stats().NoQuorum)
}
