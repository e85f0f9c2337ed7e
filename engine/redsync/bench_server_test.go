//go:build unix

package redsync

import (
	"context"
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

const lease = 8 * time.Second

// A cycle locks and unlocks one name, again and again; way is how.
type way func(ctx context.Context, e *engine.Engine, sync *Redsync, name string) (cycle func() error)

var ways = map[string]way{
	"engine": func(_ context.Context, e *engine.Engine, _ *Redsync, name string) func() error {
		return func() error {
			lock, err := e.Acquire(context.Background(), name, lease)
			if err != nil {
				return err
			}
			return lock.Release(context.Background())
		}
	},
	"shim": func(_ context.Context, _ *engine.Engine, sync *Redsync, name string) func() error {
		return func() error { return lockAndUnlock(sync.NewMutex(name)) }
	},
	"shim-with-ctx": func(ctx context.Context, _ *engine.Engine, sync *Redsync, name string) func() error { // a request's
		m := sync.NewMutex(name)
		return func() error {
			if err := m.LockContext(ctx); err != nil {
				return err
			}
			_, err := m.UnlockContext(ctx)
			return err
		}
	},
	"shim-one-mutex": func(_ context.Context, _ *engine.Engine, sync *Redsync, name string) func() error {
		m := sync.NewMutex(name)
		return func() error { return lockAndUnlock(m) }
	},
}

func init() { ways["engine-again"] = ways["engine"] }

func lockAndUnlock(m *Mutex) error {
	if err := m.Lock(); err != nil {
		return err
	}
	_, err := m.Unlock()
	return err
}

// cost is what one cycle takes: time, CPU time of this process and of the masters, allocations.
type cost struct{ time, cpu, allocs float64 }

// measure has workers make so many cycles each, on own names.
func measure(t testing.TB, e *engine.Engine, w way, workers, n int) cost {
	t.Helper()
	rs := New(e)
	var all sync.WaitGroup
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, begin := cpuUsed(t), time.Now()
	for i := range workers {
		cycle := w(t.Context(), e, rs, fmt.Sprint("bench/", i))
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
	cpu = cpuUsed(t) - cpu
	runtime.ReadMemStats(&after)
	cycles := float64(workers * n)
	return cost{elapsed.Seconds() / cycles, cpu / cycles, float64(after.Mallocs-before.Mallocs) / cycles}
}

// cpuUsed is the CPU time of this process and of the masters, in seconds.
func cpuUsed(t testing.TB) (seconds float64) {
	t.Helper()
	var own syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	seconds = time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
	for _, m := range five(t) {
		for line := range strings.Lines(redistest.Command(t, m, "INFO", "cpu").(string)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_user" || name == "used_cpu_sys" {
				used, err := strconv.ParseFloat(value, 64)
				require.NoError(t, err)
				seconds += used
			}
		}
	}
	return seconds
}

// BenchmarkShimBesideEngine takes turns: a short run of each way, in changing order, as often as
// -benchtime says. It reports the ratio of a way's cycle to the engine's in the same turn, in time and in
// CPU time, as the median over the turns and the quartiles; engine-again is the engine, for the noise:
//
//	go test -run '^$' -bench ShimBesideEngine -benchtime 60x ./engine/redsync
func BenchmarkShimBesideEngine(b *testing.B) {
	names := []string{"engine", "engine-again", "shim", "shim-one-mutex", "shim-with-ctx"}
	for _, c := range []struct{ workers, cycles int }{{1, 1000}, {64, 250}} {
		b.Run(fmt.Sprintf("masters=5/workers=%d", c.workers), func(b *testing.B) {
			e := open(b)
			measure(b, e, ways["engine"], c.workers, c.cycles)
			seen := make(map[string][]cost)
			for range b.N {
				for _, i := range rand.Perm(len(names)) {
					name := names[i]
					seen[name] = append(seen[name], measure(b, e, ways[name], c.workers, c.cycles))
				}
			}
			for _, name := range names {
				b.ReportMetric(quartiles(seen[name], nil, func(c, _ cost) float64 { return c.allocs })[1], name+"-allocs/op")
				if name == "engine" {
					continue
				}
				for kind, ratio := range map[string]func(own, engine cost) float64{
					"time": func(own, engine cost) float64 { return own.time / engine.time },
					"cpu":  func(own, engine cost) float64 { return own.cpu / engine.cpu },
				} {
					for i, q := range quartiles(seen[name], seen["engine"], ratio) {
						b.ReportMetric(q, fmt.Sprintf("%s-%s-q%d", name, kind, i+1))
					}
				}
			}
		})
	}
}

// quartiles are of a figure of each turn. The figure may compare the turn with the engine's.
func quartiles(own, engine []cost, figure func(own, engine cost) float64) (q [3]float64) {
	var all []float64
	for i := range own {
		var beside cost
		if engine != nil {
			beside = engine[i]
		}
		all = append(all, figure(own[i], beside))
	}
	slices.Sort(all)
	for i := range q {
		q[i] = all[len(all)*(i+1)/4]
	}
	return q
}
