package redsync

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

const lease = 8 * time.Second

// A cycle locks and unlocks one name, again and again; way is how.
type way func(e *engine.Engine, sync *Redsync, name string) (cycle func() error)

var ways = map[string]way{
	"engine": func(e *engine.Engine, _ *Redsync, name string) func() error {
		return func() error {
			lock, err := e.Acquire(context.Background(), name, lease)
			if err != nil {
				return err
			}
			return lock.Release(context.Background())
		}
	},
	"bounded-engine": func(e *engine.Engine, _ *Redsync, name string) func() error { // as a service would call it
		return func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			lock, err := e.Acquire(ctx, name, lease)
			if err != nil {
				return err
			}
			return lock.Release(context.Background())
		}
	},
	"shim": func(_ *engine.Engine, sync *Redsync, name string) func() error {
		return func() error { return lockAndUnlock(sync.NewMutex(name)) }
	},
	"shim-one-mutex": func(_ *engine.Engine, sync *Redsync, name string) func() error {
		m := sync.NewMutex(name)
		return func() error { return lockAndUnlock(m) }
	},
}

func lockAndUnlock(m *Mutex) error {
	if err := m.Lock(); err != nil {
		return err
	}
	_, err := m.Unlock()
	return err
}

// cycles has workers make so many cycles each, on own names, and returns the time for one and
// the allocations of the whole process.
func cycles(t testing.TB, e *engine.Engine, w way, workers, n int) (each time.Duration, allocs float64) {
	t.Helper()
	rs := New(e)
	var all sync.WaitGroup
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	for i := range workers {
		cycle := w(e, rs, fmt.Sprint("bench/", i))
		all.Go(func() {
			for range n {
				if err := cycle(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	elapsed := time.Since(begin)
	runtime.ReadMemStats(&after)
	return elapsed / time.Duration(workers*n), float64(after.Mallocs-before.Mallocs) / float64(workers*n)
}

// BenchmarkShimBesideEngine takes turns: a short run of each way, in changing order, many times. What
// it reports is the median over the turns of a way's time by the engine's in the same turn, and the
// quartiles:
//
//	go test -run '^$' -bench ShimBesideEngine -benchtime 60x ./engine/redsync
func BenchmarkShimBesideEngine(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprintf("masters=5/workers=%d", workers), func(b *testing.B) {
			e := open(b)
			names := []string{"engine", "bounded-engine", "shim", "shim-one-mutex"}
			n := 16_000 / workers
			if workers == 1 {
				n = 1000
			}
			ratios, allocs := make(map[string][]float64), make(map[string]float64)
			cycles(b, e, ways["engine"], workers, n)
			for turn := range b.N {
				took := make(map[string]time.Duration)
				for i := range names {
					name := names[(turn+i)%len(names)]
					took[name], allocs[name] = cycles(b, e, ways[name], workers, n)
				}
				for _, name := range names[1:] {
					ratios[name] = append(ratios[name], float64(took[name])/float64(took["engine"]))
				}
			}
			for _, name := range names[1:] {
				slices.Sort(ratios[name])
				for q, at := range map[string]int{"q1": len(ratios[name]) / 4, "median": len(ratios[name]) / 2, "q3": len(ratios[name]) * 3 / 4} {
					b.ReportMetric(ratios[name][at], name+"/engine-"+q)
				}
			}
			for name, n := range allocs {
				b.ReportMetric(n, name+"-allocs")
			}
		})
	}
}

func TestShimAllocatesLittle(t *testing.T) {
	if underRace || testing.Short() {
		t.Skip("counts the race detector's allocations too")
	}
	e := open(t)
	least := make(map[string]float64)
	for name, w := range ways {
		cycles(t, e, w, 64, 20) // pools and buffers grow
		_, least[name] = cycles(t, e, w, 64, 100)
		t.Logf("%s: %.2f allocations per cycle", name, least[name])
	}
	require.LessOrEqual(t, least["shim-one-mutex"]-least["engine"], 6.0)
	require.LessOrEqual(t, least["shim"]-least["engine"], 7.0)
}
