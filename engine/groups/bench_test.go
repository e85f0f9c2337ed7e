package groups

import (
	"context"
	"fmt"
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
