package groups

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// BenchmarkBesideEngine takes turns, in changing order: an engine, the same again, and one group with the same masters. It
// reports the median of the ratio to the engine in the same turn:
//
//	go test -run '^$' -bench BesideEngine -benchtime 60x ./engine/groups
func BenchmarkBesideEngine(b *testing.B) {
	servers := redistest.Masters(b, 3)
	cfg := engine.Config{Masters: redistest.Addrs(servers), MastersAreNew: true, MasterTimeout: await.Patience}
	ways := make(map[string]*engine.Engine)
	for _, way := range []string{"engine", "again"} {
		e, err := engine.New(b.Context(), cfg)
		require.NoError(b, err)
		defer e.Close()
		ways[way] = e
	}
	masters := cfg.Masters
	cfg.Masters = nil
	e, err := New(b.Context(), Config{Config: cfg, Groups: map[string][]string{"a": masters}})
	require.NoError(b, err)
	defer e.Close()
	ways["group"] = e.Engine
	names := []string{"engine", "again", "group"}
	for _, c := range []struct{ workers, cycles int }{{1, 1000}, {64, 300}} {
		b.Run(fmt.Sprintf("workers=%d", c.workers), func(b *testing.B) {
			seen := make(map[string][]redistest.Cost)
			for range b.N {
				for _, i := range rand.Perm(len(names)) {
					seen[names[i]] = append(seen[names[i]], measure(b, ways[names[i]], servers, c.workers, c.cycles))
				}
			}
			for _, name := range names[1:] {
				var times, cpu, allocs []float64
				for i, own := range seen[name] {
					of := seen["engine"][i]
					times, cpu, allocs = append(times, own.Time/of.Time), append(cpu, own.Own/of.Own), append(allocs, own.Allocs-of.Allocs)
				}
				b.ReportMetric(median(times), name+"-time")
				b.ReportMetric(median(cpu), name+"-cpu")
				b.ReportMetric(median(allocs), name+"-allocs")
			}
		})
	}
}

// BenchmarkMastersOfGroups reports how much CPU time the busiest master needs for a lock with one group, compared with
// that for the same locks with two: where CPU of masters is the limit, two groups take so many times the locks of one.
//
//	go test -run '^$' -bench MastersOfGroups -benchtime 20x ./engine/groups
func BenchmarkMastersOfGroups(b *testing.B) {
	servers := redistest.Masters(b, 6)
	addrs := redistest.Addrs(servers)
	cfg := engine.Config{MastersAreNew: true, MasterTimeout: await.Patience}
	one, err := New(b.Context(), Config{Config: cfg, Groups: map[string][]string{"a": addrs[:3]}})
	require.NoError(b, err)
	defer one.Close()
	cfg.Prefix = "2/" // another map, on the same masters
	two, err := New(b.Context(), Config{Config: cfg, Groups: map[string][]string{"a": addrs[:3], "b": addrs[3:]}})
	require.NoError(b, err)
	defer two.Close()
	for _, c := range []struct{ workers, cycles int }{{64, 200}, {512, 40}, {1024, 40}} {
		b.Run(fmt.Sprintf("workers=%d", c.workers), func(b *testing.B) { // of each group: what its masters are asked at once
			var ones, twos, gains []float64
			for range b.N {
				alone := measure(b, one.Engine, servers, c.workers, c.cycles)
				shared := measure(b, two.Engine, servers, 2*c.workers, c.cycles)
				ones, twos, gains = append(ones, alone.Busiest*1e6), append(twos, shared.Busiest*1e6), append(gains, alone.Busiest/shared.Busiest)
			}
			b.ReportMetric(median(ones), "one-µs/lock")
			b.ReportMetric(median(twos), "two-µs/lock")
			b.ReportMetric(median(gains), "gain")
		})
	}
}

// measure has workers acquire and release names of their own.
func measure(b *testing.B, locks *engine.Engine, servers []*redisserver.Server, workers, n int) redistest.Cost {
	return redistest.CostOf(b, servers, workers, n, func(worker int) func() error {
		return func() error {
			lock, err := locks.Acquire(context.Background(), fmt.Sprint("bench/", worker), 0)
			if err != nil {
				return err
			}
			return lock.Release(context.Background())
		}
	})
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
