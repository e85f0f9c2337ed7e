package bench

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
)

// WriteBench writes results in the Go benchmark format that benchstat reads, one
// line each. ns/op is measured time over cycles, as b.RunParallel would give;
// p50-ns and p99-ns are of Headline. Runs without a cycle are left out: the
// format cannot say them.
func WriteBench(w io.Writer, results []*Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: muxlock/bench\n", runtime.GOOS, runtime.GOARCH)
	if cpu := CurrentEnv().CPU; cpu != "" {
		fmt.Fprintf(b, "cpu: %s\n", cpu)
	}
	for _, r := range results {
		cycles := r.Latency.Cycle.Count
		if cycles == 0 {
			continue
		}
		h := r.Headline()
		procs := ""
		if r.Procs > 1 {
			procs = fmt.Sprintf("/procs=%d", r.Procs)
		}
		fmt.Fprintf(b, "BenchmarkCycle/impl=%s/masters=%d/workers=%d%s-%d\t%d\t%.1f ns/op\t%.1f cycles/s\t%d p50-ns\t%d p99-ns\t%.0f cpu-ns/op\t%.2f allocs/op\n",
			r.Impl, r.Masters, r.Workers, procs, runtime.GOMAXPROCS(0), cycles,
			r.DurationS*1e9/float64(cycles), r.ThroughputPerS, h.P["50"], h.P["99"], r.Client.CPUNsPerOp, r.Client.AllocsPerOp)
	}
	return b.Flush()
}
