//go:build unix

package redsync

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

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
			measure := func(name string) redistest.Cost {
				return redistest.CostOf(b, five(b), c.workers, c.cycles, func(i int) func() error {
					return ways[name](b.Context(), e, New(e), fmt.Sprint("bench/", i))
				})
			}
			measure("engine")
			seen := make(map[string][]redistest.Cost)
			for range b.N {
				for _, i := range rand.Perm(len(names)) {
					name := names[i]
					seen[name] = append(seen[name], measure(name))
				}
			}
			for _, name := range names {
				b.ReportMetric(quartiles(seen[name], nil, func(c, _ redistest.Cost) float64 { return c.Allocs })[1], name+"-allocs/op")
				if name == "engine" {
					continue
				}
				for kind, ratio := range map[string]func(own, engine redistest.Cost) float64{
					"time": func(own, engine redistest.Cost) float64 { return own.Time / engine.Time },
					"cpu": func(own, engine redistest.Cost) float64 {
						return (own.Own + own.Masters) / (engine.Own + engine.Masters)
					},
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
func quartiles(own, engine []redistest.Cost, figure func(own, engine redistest.Cost) float64) (q [3]float64) {
	var all []float64
	for i := range own {
		var beside redistest.Cost
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
