package output

import (
	"fmt"
	"io"
	"text/tabwriter"

	"muxlock/bench"
)

// Run writes every figure of every result.
func Run(w io.Writer, doc Document, caveats map[string]string) error {
	b := &buffer{}
	header(b, doc)
	for _, r := range doc.Results {
		one(b, r, doc.Config)
	}
	fmt.Fprintln(b)
	objectives(b, doc)
	warnings(b, doc.Results)
	notes(b, doc.Config.Impls, caveats)
	return b.flush(w)
}

func one(w io.Writer, r *bench.Result, c Config) {
	fmt.Fprintf(w, "\n%s", r.Impl)
	if c.Rounds > 1 {
		fmt.Fprintf(w, "  round %d", r.Round)
	}
	fmt.Fprintf(w, "  %s cycles/s over %.1fs", Number(r.ThroughputPerS), r.DurationS)
	t := r.Totals
	if c.Rate > 0 && r.DurationS > 0 {
		fmt.Fprintf(w, "   offered %s/s, started %s/s", Number(float64(t.Offered)/r.DurationS), Number(float64(t.Started)/r.DurationS))
		openTotals(w, t, c)
	}
	fmt.Fprintf(w, "\nacquired %s   refused %s   timeouts %s   errors %s   overlaps %s   lost validity %s\n", Number(float64(t.Acquired)), Number(float64(t.Refused)),
		Number(float64(t.Timeouts)), Number(float64(t.Errors)), Number(float64(r.Safety.Overlaps)), Number(float64(t.LostValidity)))

	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\t")
	for _, p := range Percentiles {
		fmt.Fprintf(tw, "p%s\t", p)
	}
	fmt.Fprintln(tw, "max\tn\t")
	l := r.Latency
	if l.Response != nil {
		row(tw, "response", l.Response)
		row(tw, "wait", l.Wait)
		row(tw, "lag", l.Lag)
		row(tw, "service", l.Service)
	} else {
		row(tw, "acquire", l.Acquire)
	}
	row(tw, "release", l.Release)
	row(tw, "cycle", l.Cycle)
	row(tw, "extend", l.Extend)
	row(tw, "hold", l.Hold)
	row(tw, "hand-over", l.Handover)
	row(tw, "from other process", l.HandoverRemote)
	row(tw, "uncontended", l.Uncontended)
	tw.Flush()
	clocks(w, r, c)
	thin(w, r)
	steady(w, r, c)
	if l.Handover != nil {
		fmt.Fprintln(w, "hand-over: from the call of Release to the return of an Acquire that was waiting")
		if l.HandoverRemote != nil {
			besideIt(w, "from other process", l.HandoverRemote, l.Uncontended)
		} else {
			besideIt(w, "hand-over", l.Handover, l.Uncontended)
		}
	}
	perMaster(w, r.PerMaster)
	if h := r.Holding; h != nil {
		fmt.Fprintf(w, "holding: %s of %s   lost %s   heap %s bytes a lock   goroutines %s before, %s with all held", Number(float64(h.Held)), Number(float64(h.Wanted)),
			Number(float64(h.Lost)), Number(h.HeapBytesPerLock), Number(float64(h.GoroutinesBefore)), Number(float64(h.GoroutinesAfter)))
		if h.CommandsPerRound > 0 {
			fmt.Fprintf(w, "   %s commands a round", Digits(h.CommandsPerRound))
		}
		fmt.Fprintln(w)
	}
	client(w, r)
	fair := r.Fairness
	fmt.Fprintf(w, "fairness (Jain) %.3f   longest wait %s = %s the mean\n", fair.Jain, Duration(float64(fair.MaxWaitNs)), unevenness(r))
	if len(fair.PerProc) > 1 {
		fmt.Fprint(w, "acquired by each process:")
		for _, n := range fair.PerProc {
			fmt.Fprintf(w, "   %s (%.0f%%)", Number(float64(n)), 100*float64(n)/float64(max(t.Acquired, 1)))
		}
		fmt.Fprintln(w)
	}
	hurt(w, "", []*bench.Result{r})
}

// client is what the load cost here, and what may have disturbed it.
func client(w io.Writer, r *bench.Result) {
	c := r.Client
	fmt.Fprint(w, "client:")
	if r.ThroughputPerS > 0 { // --op hold has no cycles
		fmt.Fprintf(w, " cpu %s a cycle", Duration(c.CPUNsPerOp))
		if c.ToolCPUNsPerOp > 0 {
			fmt.Fprintf(w, " (generator at most %s = %.0f%%", Duration(c.ToolCPUNsPerOp), 100*c.ToolCPUShare)
			if c.ToolWorkNsPerOp != c.ToolCPUNsPerOp {
				fmt.Fprintf(w, ", but for sleeping %s = %.1f%%", Duration(c.ToolWorkNsPerOp), 100*c.ToolWorkNsPerOp/c.CPUNsPerOp)
			}
			fmt.Fprint(w, ")")
		}
		fmt.Fprintf(w, "   allocs %s a cycle  ", Digits(c.AllocsPerOp))
	}
	fmt.Fprintf(w, " %.0f%% of the machine's cpu   gc pause p99 %s   ready to run p99 %s",
		100*c.CPUShare, Duration(float64(c.GCP99Ns)), Duration(float64(c.SchedP99Ns)))
	if s := c.Stall; s != nil {
		fmt.Fprintf(w, "   stall p99 %s longest %s", Percentile(s, "99"), Duration(float64(s.Max)))
	}
	fmt.Fprintln(w)
}

// besideIt says how many times an acquire without waiting a hand-over took in the same run.
func besideIt(w io.Writer, name string, s, alone *bench.Summary) {
	if s != nil && s.Count > 0 && alone != nil && alone.P["50"] > 0 {
		fmt.Fprintf(w, "%s p50 = %sx the uncontended acquire beside it\n", name, Digits(float64(s.P["50"])/float64(alone.P["50"])))
	}
}

// unevenness is how many times the mean wait the longest was.
func unevenness(r *bench.Result) string {
	if r.Fairness.MeanWaitNs == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fx", float64(r.Fairness.MaxWaitNs)/float64(r.Fairness.MeanWaitNs))
}

// row marks with ~ what is thin.
func row(w io.Writer, name string, s *bench.Summary) {
	if s == nil || s.Count == 0 {
		return
	}
	fmt.Fprintf(w, "%s\t", name)
	for _, p := range Percentiles {
		fmt.Fprintf(w, "%s\t", Percentile(s, p))
	}
	fmt.Fprintf(w, "%s\t%s\t\n", Duration(float64(s.Max)), Number(float64(s.Count)))
}
