package groups

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
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// BenchmarkFind is what a request costs more than with one engine. A cycle makes three.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1, 2, 10, 100} {
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			r := &router{now: groupsOf(n), all: groupsOf(n)}
			b.ReportAllocs()
			for b.Loop() {
				r.Of("invoice:0123456789")
			}
		})
	}
}

// cost is what one cycle takes: time, CPU time of this process and of the busiest master, and allocations.
type cost struct{ time, own, master, allocs float64 }

// measure has workers make so many cycles each, on names of their own.
func measure(t testing.TB, locks *engine.Engine, servers []*redisserver.Server, workers, n int) cost {
	t.Helper()
	var all sync.WaitGroup
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	own, masters, begin := ownCPU(t), mastersCPU(t, servers), time.Now()
	for i := range workers {
		all.Go(func() {
			for range n {
				lock, err := locks.Acquire(context.Background(), fmt.Sprint("bench/", i), 0)
				if err == nil {
					err = lock.Release(context.Background())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begin).Seconds()
	own = ownCPU(t) - own
	busiest := 0.0
	for i, used := range mastersCPU(t, servers) {
		busiest = max(busiest, used-masters[i])
	}
	runtime.ReadMemStats(&after)
	cycles := float64(workers * n)
	return cost{took / cycles, own / cycles, busiest / cycles, float64(after.Mallocs-before.Mallocs) / cycles}
}

func ownCPU(t testing.TB) float64 {
	t.Helper()
	var own syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
}

// mastersCPU is the CPU time that each master has used, in seconds.
func mastersCPU(t testing.TB, servers []*redisserver.Server) (all []float64) {
	t.Helper()
	for _, m := range servers {
		seconds := 0.0
		for line := range strings.Lines(redistest.Command(t, m, "INFO", "cpu").(string)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_user" || name == "used_cpu_sys" {
				used, err := strconv.ParseFloat(value, 64)
				require.NoError(t, err)
				seconds += used
			}
		}
		all = append(all, seconds)
	}
	return all
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkBesideEngine takes turns, in changing order: an engine, the same again, and one group with the same masters. It
// reports the median of the ratio to the engine in the same turn:
//
//	go test -run '^$' -bench BesideEngine -benchtime 60x ./engine/groups
func BenchmarkBesideEngine(b *testing.B) {
	servers := redistest.Masters(b, 3)
	cfg := engine.Config{Masters: redistest.Addrs(servers), MastersAreNew: true, MasterTimeout: patience}
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
			seen := make(map[string][]cost)
			for range b.N {
				for _, i := range rand.Perm(len(names)) {
					seen[names[i]] = append(seen[names[i]], measure(b, ways[names[i]], servers, c.workers, c.cycles))
				}
			}
			for _, name := range names[1:] {
				var times, cpu, allocs []float64
				for i, own := range seen[name] {
					of := seen["engine"][i]
					times, cpu, allocs = append(times, own.time/of.time), append(cpu, own.own/of.own), append(allocs, own.allocs-of.allocs)
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
	cfg := engine.Config{MastersAreNew: true, MasterTimeout: patience}
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
				ones, twos, gains = append(ones, alone.master*1e6), append(twos, shared.master*1e6), append(gains, alone.master/shared.master)
			}
			b.ReportMetric(median(ones), "one-µs/lock")
			b.ReportMetric(median(twos), "two-µs/lock")
			b.ReportMetric(median(gains), "gain")
		})
	}
}
