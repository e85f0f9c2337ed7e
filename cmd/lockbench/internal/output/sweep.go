package output

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"muxlock/bench"
)

// Sweep writes a line for each setting and implementation, and how the figures grow;
// or, after a search of the capacity, its steps and its answer.
func Sweep(w io.Writer, doc Document, caveats map[string]string) error {
	b := &buffer{}
	header(b, doc)
	if len(doc.Capacity) > 0 {
		for _, c := range doc.Capacity {
			steps(b, c)
		}
	} else {
		fmt.Fprintf(b, "rounds: %d of %s each, all settings in turn; the figures are medians\n\n", doc.Config.Rounds, doc.Config.Duration)
		points(b, doc)
		growth(b, doc)
	}
	fmt.Fprintln(b)
	warnings(b, slices.DeleteFunc(slices.Clone(doc.Results), func(r *bench.Result) bool {
		return len(doc.Capacity) > 0 && r.Safety.Overlaps == 0 && len(r.ErrorSamples) == 0 // the steps say the rest
	}))
	if len(caveats) > 0 {
		notes(b, doc.Config.Impls, caveats)
	}
	return b.flush(w)
}

// points is the table; a figure that no run has is -.
func points(w io.Writer, doc Document) {
	s := doc.Sweep
	open := slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Latency.Response != nil })
	handover := slices.ContainsFunc(s.Points, func(p bench.SweepPoint) bool { return p.HandoverP50Ns > 0 })
	latency := "cycle"
	heads := []string{}
	for _, p := range s.Params {
		heads = append(heads, p.Name)
	}
	heads = append(heads, "impl")
	if open {
		latency = "response"
		heads = append(heads, "offered/s")
	}
	heads = append(heads, "cycles/s", latency+" p50", latency+" p99")
	if handover {
		heads = append(heads, "hand-over p50")
	}
	heads = append(heads, "cpu/cycle", "")

	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, strings.Join(heads, "\t")+"\t")
	for _, p := range s.Points {
		var cells []string
		for _, param := range s.Params {
			cells = append(cells, p.Setting[param.Name])
		}
		cells = append(cells, p.Impl)
		if open {
			cells = append(cells, Number(p.OfferedPerS))
		}
		cells = append(cells, Number(p.ThroughputPerS), orNone(p.P50Ns), orNone(p.P99Ns))
		if handover {
			cells = append(cells, orNone(p.HandoverP50Ns))
		}
		mark := ""
		switch {
		case !p.Valid && doc.Config.Target != "embedded": // of which none is
			mark = "not valid"
		default:
			for _, i := range p.Results {
				if text := missed(doc.Results[i]); text != "" {
					mark = "missed " + text
				}
			}
		}
		fmt.Fprintln(tw, strings.Join(append(cells, orNone(p.CPUNsPerOp), mark), "\t")+"\t")
	}
	tw.Flush()
}

func orNone(ns float64) string {
	if ns == 0 {
		return "-"
	}
	return Duration(ns)
}

// growthCells is the width of each plot.
const growthCells = 24

// growth draws throughput and latency as bars, each against the highest of all.
func growth(w io.Writer, doc Document) {
	var throughput, p99 float64
	for _, p := range doc.Sweep.Points {
		throughput, p99 = max(throughput, p.ThroughputPerS), max(p99, p.P99Ns)
	}
	if throughput == 0 {
		return
	}
	fmt.Fprintln(w, "\nhow it grows; a full bar is the highest of its column")
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "\tcycles/s\tp99")
	for _, impl := range doc.Config.Impls {
		for _, p := range doc.Sweep.Points {
			if p.Impl == impl {
				fmt.Fprintf(tw, "%s\t%-*s\t%s\n", join(p.Impl, p.Setting), growthCells, visibly(p.ThroughputPerS/throughput), visibly(p.P99Ns/max(p99, 1)))
			}
		}
	}
	tw.Flush()
}

// visibly is a bar that shows anything that is not nothing.
func visibly(share float64) string {
	if share > 0 {
		share = max(share, 1.0/float64(growthCells*len(widths)))
	}
	return block(share, growthCells)
}

// steps is one search and what it found.
func steps(w io.Writer, c bench.Capacity) {
	fmt.Fprintf(w, "\n%s: the highest rate that meets %s\n", join(c.Impl, c.Setting), strings.Join(c.SLO, " and "))
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "step\trate\tcycles/s\tp99\t\t")
	for i, s := range c.Steps {
		fmt.Fprintf(tw, "%d\t%s/s\t%s\t%s\t%s\t%s\n", i+1, perSecond(s.RatePerS), perSecond(s.ThroughputPerS), orNone(float64(s.P99Ns)), Outcome(s), s.Why)
	}
	tw.Flush()
	fmt.Fprintln(w, Answer(c))
}

// Answer is what a search found, in a sentence.
func Answer(c bench.Capacity) string {
	what := fmt.Sprintf("%s: highest rate that met %s: ", join(c.Impl, c.Setting), strings.Join(c.SLO, " and "))
	if c.RatePerS == 0 {
		what += "none"
		if c.MissedPerS > 0 {
			what += fmt.Sprintf(", missed at %s/s", perSecond(c.MissedPerS))
		}
		if c.UnjudgedPerS > 0 {
			what += fmt.Sprintf("; at %s/s there was too little to judge by, which a longer --duration mends", perSecond(c.UnjudgedPerS))
		}
		return what + notKnown(c)
	}
	var p99 []float64
	for _, s := range c.Steps {
		if s.RatePerS == c.RatePerS && s.Met {
			p99 = append(p99, float64(s.P99Ns))
		}
	}
	what += fmt.Sprintf("%s/s (p99 up to %s)", perSecond(c.RatePerS), Duration(slices.Max(p99)))
	if c.MissedPerS > 0 {
		what += fmt.Sprintf(", missed at %s/s", perSecond(c.MissedPerS))
	}
	if !c.Confirmed {
		what += "; NOT CONFIRMED: the search ended before"
	}
	return what + notKnown(c)
}

// notKnown says above which rate the generator could not show what the lock can do.
func notKnown(c bench.Capacity) string {
	if !c.GeneratorLimits() {
		return ""
	}
	return fmt.Sprintf("; not known above %s/s: the generator, which could not keep up at %s/s", perSecond(c.RatePerS), perSecond(c.GeneratorPerS))
}

// Outcome is what a step came to, in a word or two.
func Outcome(s bench.CapacityStep) string {
	switch {
	case s.Met && s.Confirms:
		return "met again"
	case s.Met:
		return "met"
	case s.Generator:
		return "not known"
	case s.Unjudged:
		return "not judged"
	}
	return "missed"
}

// perSecond is a rate: whole from 100 on.
func perSecond(v float64) string {
	if v < 100 {
		return Digits(v)
	}
	return Number(v)
}

// Judged is an objective and what was measured.
func Judged(s bench.SLO) string {
	if s.Reason != "" {
		return s.Text + ": " + s.Reason
	}
	return s.Text + ": " + InUnit(s.Value, s.Unit)
}
