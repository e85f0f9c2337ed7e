package result

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"

	"muxlock/bench"
)

// WriteBench writes results in the Go benchmark format of benchstat, one line each. ns/op is the
// measured time over the cycles, as with b.RunParallel. p50-ns and p99-ns are of Headline. It
// leaves out runs without a cycle and percentiles that are lower bounds: the format has no way
// to say them.
func WriteBench(w io.Writer, results []*bench.Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: muxlock/bench\n", runtime.GOOS, runtime.GOARCH)
	if cpu := CurrentEnv().CPU; cpu != "" {
		fmt.Fprintf(b, "cpu: %s\n", cpu)
	}
	for _, r := range results {
		cycles := r.Latency.Cycle.Count
		if cycles == 0 || r.ThroughputPerS == 0 {
			continue
		}
		h := r.Headline()
		fmt.Fprintf(b, "%s-%d\t%d\t%.1f ns/op\t%.1f cycles/s\t", benchName(r), runtime.GOMAXPROCS(0), cycles, 1e9/r.ThroughputPerS, r.ThroughputPerS)
		for _, p := range []string{"50", "99"} {
			if !slices.Contains(h.AtLeast, p) {
				fmt.Fprintf(b, "%d p%s-ns\t", h.P[p], p)
			}
		}
		fmt.Fprintf(b, "%.0f cpu-ns/op\t%.2f allocs/op\n", r.Client.CPUNsPerOp, r.Client.AllocsPerOp)
	}
	return b.Flush()
}

// benchName has the usual settings, and those that a sweep varies.
func benchName(r *bench.Result) string {
	name := fmt.Sprintf("BenchmarkCycle/impl=%s/masters=%d/workers=%d", r.Impl, r.Masters, r.Workers)
	if r.Procs > 1 {
		name += fmt.Sprintf("/procs=%d", r.Procs)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Setting)) {
		if !strings.Contains(name, "/"+key+"=") {
			name += "/" + key + "=" + benchSafe.Replace(r.Setting[key])
		}
	}
	return name
}

// benchSafe replaces characters that end a name or a part of it.
var benchSafe = strings.NewReplacer("/", "_", " ", "_", "\t", "_", "\n", "_")
