//go:build unix

package redistest

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
)

// A Cost is what one cycle takes, in seconds: time, CPU time of this process, of all masters and of the busiest one.
type Cost struct{ Time, Own, Masters, Busiest, Allocs float64 }

// CostOf has workers make so many cycles each. make returns the cycle of a worker.
func CostOf(t testing.TB, servers []*redisserver.Server, workers, n int, make func(worker int) (cycle func() error)) (c Cost) {
	t.Helper()
	var all sync.WaitGroup
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, own, begin := cpuOf(t, servers), ownCPU(t), time.Now()
	for i := range workers {
		cycle := make(i)
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
	c.Time, c.Own = time.Since(begin).Seconds(), ownCPU(t)-own
	for i, seconds := range cpuOf(t, servers) {
		c.Masters, c.Busiest = c.Masters+seconds-used[i], max(c.Busiest, seconds-used[i])
	}
	runtime.ReadMemStats(&after)
	cycles := float64(workers * n)
	return Cost{c.Time / cycles, c.Own / cycles, c.Masters / cycles, c.Busiest / cycles, float64(after.Mallocs-before.Mallocs) / cycles}
}

func ownCPU(t testing.TB) float64 {
	t.Helper()
	var own syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
}

// cpuOf returns the CPU time that each server has used.
func cpuOf(t testing.TB, servers []*redisserver.Server) (all []float64) {
	t.Helper()
	for _, s := range servers {
		seconds := 0.0
		for line := range strings.Lines(Command(t, s, "INFO", "cpu").(string)) {
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
