package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/testing/await"
	"muxlock/pipeline"
)

// willing stands for masters that say yes to all, at once, and remember nothing.
type willing struct{}

var yes = pipeline.Outcome{Verdict: quorum.Won, Tally: quorum.Tally{Granted: 5}, Origin: pipeline.OriginForeign}

func (willing) Do(context.Context, pipeline.Request) (pipeline.Outcome, error) { return yes, nil }
func (willing) Start(_ pipeline.Request, to pipeline.Receiver) error {
	to.Decided(yes)
	to.Counted(1<<5-1, 0)
	return nil
}
func (willing) DoMany(_ context.Context, reqs []pipeline.Request, each func(int, *pipeline.Outcome, error)) {
	for i := range reqs {
		each(i, &pipeline.Outcome{Verdict: yes.Verdict, Tally: yes.Tally}, nil)
	}
}
func (willing) Post(pipeline.Request)                                     {}
func (willing) Await(context.Context, string, time.Duration) error        { return nil }
func (willing) Inspect(context.Context, string) ([]pipeline.Value, error) { return nil, nil }
func (willing) Ready(context.Context) error                               { return nil }
func (willing) Full() bool                                                { return false }
func (willing) Voted() uint64                                             { return 0 }
func (willing) Lines(context.Context) bool                                { return false }
func (willing) Listen(_, _ string, _ pipeline.Listener)                   {}
func (willing) Unlisten(string)                                           {}
func (willing) Stats() pipeline.Stats                                     { return pipeline.Stats{} }
func (willing) Refuse()                                                   {}
func (willing) Close()                                                    {}

// crowded returns an engine over willing masters, closed at cleanup.
func crowded(t *testing.T, ttl time.Duration) *Engine {
	t.Helper()
	if underRace || testing.Short() {
		t.Skip("measures memory")
	}
	e := newEngine(Config{Masters: make([]string, 5), TTL: ttl}.withDefaults(), willing{}, new(record))
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// inUse returns the bytes of the heap in use, without stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestManyLocksKeptAliveCostLittleMemoryAndNoGoroutine(t *testing.T) {
	const count = 10_000
	synctest.Test(t, func(t *testing.T) {
		e := crowded(t, 3*time.Second)
		names := make([]string, count)
		for i := range names {
			names[i] = fmt.Sprint("name ", i)
		}
		locks := make([]*Lock, count)
		goroutines, before := runtime.NumGoroutine(), inUse()
		for i, name := range names {
			var err error
			locks[i], err = e.TryAcquire(t.Context(), name, 0)
			require.NoError(t, err)
			require.NoError(t, locks[i].KeepAlive(0))
			time.Sleep(100 * time.Microsecond) // what is renewed at once takes memory, too
		}
		await.True(t, func() bool { return e.Stats().Renewed >= 2*count }, "all are renewed, twice")
		await.True(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, "no goroutine of their own; one is this check's")
		each := (inUse() - before) / count
		t.Logf("%d bytes per lock", each)
		require.LessOrEqual(t, each, int64(1024))
		for _, lock := range locks {
			require.True(t, lock.Valid())
			require.NoError(t, lock.Release(t.Context()))
		}
		require.Zero(t, namesOf(e))
		require.Empty(t, e.keeper.leases)
		runtime.KeepAlive(names)
	})
}

func TestHundredThousandWaitersCostLittleMemoryAndAllGoHome(t *testing.T) {
	const count, names = 100_000, 1000
	e := crowded(t, time.Hour)
	holders := make([]*Lock, names)
	holds := make([]atomic.Int32, names)
	for i := range holders {
		var err error
		holders[i], err = e.TryAcquire(t.Context(), fmt.Sprint("name ", i), 0)
		require.NoError(t, err)
		holds[i].Store(1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var served, left atomic.Int64
	var ready, work sync.WaitGroup
	start := make(chan struct{})
	ready.Add(count)
	for i := range count {
		work.Go(func() {
			ready.Done()
			<-start // the goroutine itself is not what is measured
			own := t.Context()
			if i%2 == 0 {
				own = ctx
			}
			lock, err := e.Acquire(own, holders[i%names].Name(), 0)
			switch {
			case errors.Is(err, context.Canceled):
				left.Add(1)
				return
			case err != nil:
				t.Error(err)
				return
			}
			served.Add(1)
			if holds[i%names].Add(1) != 1 {
				t.Error("two holders")
			}
			holds[i%names].Add(-1)
			if err := lock.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	ready.Wait()
	before := inUse()
	close(start)
	await.Within(t, time.Minute, func() bool { return e.Stats().Waiting == count })
	each := (inUse() - before) / count
	t.Logf("%d bytes per waiter", each)
	require.LessOrEqual(t, each, int64(1024))

	cancel()
	await.Within(t, time.Minute, func() bool { return left.Load() == count/2 })
	for i, lock := range holders {
		holds[i].Add(-1)
		require.NoError(t, lock.Release(t.Context()))
	}
	work.Wait()
	require.EqualValues(t, count/2, served.Load())
	require.Zero(t, e.Stats().Waiting)
	require.Zero(t, namesOf(e))
}
