package result

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muxlock/bench"
)

// WriteBench writes the results of doc in the Go benchmark format of benchstat, one line each. ns/op
// is the measured time over the cycles, as with b.RunParallel. p50-ns and p99-ns are of Headline. A
// percentile that is a lower bound is left out: the format has no way to say it. So is a run that is
// not valid, broke safety or finished no cycle. Its line says why, and benchstat ignores that line.
func WriteBench(w io.Writer, doc Document) error {
	b := bufio.NewWriter(w)
	for _, line := range [][2]string{{"goos", doc.Env.OS}, {"goarch", doc.Env.Arch}, {"pkg", "muxlock/bench"}, {"cpu", doc.Env.CPU}} {
		if line[1] != "" {
			fmt.Fprintf(b, "%s: %s\n", line[0], line[1])
		}
	}
	for _, r := range doc.Results {
		name := benchName(doc.Config, r)
		if why := leftOut(r); why != "" {
			fmt.Fprintf(b, "# left out: %s, round %d: %s\n", name, r.Round, why)
			continue
		}
		fmt.Fprintf(b, "BenchmarkCycle/%s-%d\t%d\t%.1f ns/op", name, doc.Env.GOMAXPROCS, r.Latency[bench.CycleTime].Count, 1e9/r.ThroughputPerS)
		for _, c := range benchFigures {
			if now := MustFigure(c.figure).read(r); now.none == "" && !now.atLeast {
				fmt.Fprintf(b, "\t%.*f %s", c.digits, now.value, c.unit)
			}
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// benchFigures are the figures of a line, with the unit that benchstat shows.
var benchFigures = []struct {
	figure, unit string
	digits       int
}{{"throughput", "cycles/s", 1}, {"headline.p50", "p50-ns", 0}, {"headline.p99", "p99-ns", 0}, {"cpu_ns_per_op", "cpu-ns/op", 0}, {"allocs_per_op", "allocs/op", 2}}

// leftOut returns why a run is no benchmark, on one line; else "".
func leftOut(r *bench.Result) string {
	switch {
	case r.Safety.Violated():
		return fmt.Sprintf("%d overlaps, %d fence violations", r.Safety.Overlaps, r.Safety.FenceViolations)
	case !r.Valid.OK:
		return strings.Join(strings.Fields("not valid: "+r.Valid.String()), " ")
	case r.Latency[bench.CycleTime].Count == 0 || r.ThroughputPerS == 0:
		return "no cycle was finished"
	}
	return ""
}

// benchName has the usual settings, those that a sweep varies, and op, dist, keys and rate where
// they are not the default.
func benchName(cfg Config, r *bench.Result) string {
	name := fmt.Sprintf("impl=%s/masters=%d/workers=%d", r.Impl, r.Masters, r.Workers)
	if r.Procs > 1 {
		name += fmt.Sprintf("/procs=%d", r.Procs)
	}
	own, dist := bench.Dist{}.String(), cmp.Or(r.Setting["dist"], cfg.Dist.String())
	settings := map[string]string{"op": cfg.Op.String(), "rate": strconv.FormatFloat(cfg.Rate, 'f', -1, 64), "dist": dist, "keys": strconv.Itoa(r.Keys)}
	usual := map[string]string{"op": bench.AcquireRelease.String(), "rate": "0", "dist": own}
	if dist == own && cfg.Op != bench.Hold {
		delete(settings, "keys")
	}
	maps.DeleteFunc(settings, func(key, value string) bool { return value == usual[key] })
	maps.Copy(settings, r.Setting)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !strings.Contains(name, "/"+key+"=") {
			name += "/" + key + "=" + benchSafe.Replace(settings[key])
		}
	}
	return name
}

// benchSafe replaces characters that end a name or a part of it.
var benchSafe = strings.NewReplacer("/", "_", " ", "_", "\t", "_", "\n", "_")
