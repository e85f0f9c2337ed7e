package output

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"muxlock/bench"
)

// Compare writes one line per implementation: medians over the rounds, and how
// the reference stands to it.
func Compare(w io.Writer, doc Document, caveats map[string]string) error {
	b := &buffer{}
	header(b, doc)
	fmt.Fprintf(b, "rounds: %d of %s each, in turn; the figures are medians\n\n", doc.Config.Rounds, doc.Config.Duration)

	relative := map[string]bench.Relative{}
	for _, r := range doc.Relative {
		relative[r.Impl] = r
	}
	tw := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	open := doc.Config.Rate > 0
	latency := "cycle"
	if open {
		latency = "response"
	}
	fmt.Fprintf(tw, "\tcycles/s\t%s p50\t%[1]s p99\tacquire p50\tcpu/cycle\tallocs/cycle\tthroughput\t\n", latency)
	for _, impl := range doc.Config.Impls {
		line(tw, impl, of(doc.Results, impl), relative[impl])
	}
	tw.Flush()
	fmt.Fprintln(b, certainty(doc.Relative))
	if slices.ContainsFunc(doc.Results, waits) {
		waiting(b, doc)
	}

	if len(doc.Config.Faults) > 0 {
		fmt.Fprintln(b)
	}
	for _, impl := range doc.Config.Impls {
		hurt(b, impl+"  ", of(doc.Results, impl))
	}

	fmt.Fprintln(b)
	objectives(b, doc)
	warnings(b, doc.Results)
	if len(caveats) > 0 {
		fmt.Fprintln(b, "what they do not promise, and what they ran on:")
		notes(b, doc.Config.Impls, caveats)
	}
	return b.flush(w)
}

// waits tells whether workers waited for each other at shared names.
func waits(r *bench.Result) bool { return r.Latency.Handover != nil }

// waiting writes a second table: how long who waits, and how evenly.
func waiting(w io.Writer, doc Document) {
	fmt.Fprintln(w, "\nwaiting for shared names; hand-over: from the call of Release to the return of an Acquire that was waiting")
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tacquired/s\tacquire p50\tacquire p99\thand-over p50\tfrom other process\tJain\tlongest/mean wait\t")
	for _, impl := range doc.Config.Impls {
		results := slices.DeleteFunc(of(doc.Results, impl), func(r *bench.Result) bool { return !waits(r) || r.DurationS == 0 })
		if len(results) == 0 {
			continue
		}
		acquire := func(r *bench.Result) *bench.Summary { return r.Latency.Acquire }
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%.3f\t%.1fx\t\n", impl,
			Number(median(results, func(r *bench.Result) float64 { return float64(r.Totals.Acquired) / r.DurationS })),
			latency(results, acquire, "50"), latency(results, acquire, "99"),
			latency(results, func(r *bench.Result) *bench.Summary { return r.Latency.Handover }, "50"),
			latency(results, func(r *bench.Result) *bench.Summary { return r.Latency.HandoverRemote }, "50"),
			median(results, func(r *bench.Result) float64 { return r.Fairness.Jain }),
			median(results, func(r *bench.Result) float64 {
				return float64(r.Fairness.MaxWaitNs) / float64(max(r.Fairness.MeanWaitNs, 1))
			}))
	}
	tw.Flush()
}

// of is the finished runs of one implementation.
func of(results []*bench.Result, impl string) []*bench.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool {
		return r.Impl != impl || r.Interrupted()
	})
}

func line(w io.Writer, impl string, results []*bench.Result, rel bench.Relative) {
	if len(results) == 0 {
		fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t-\tno finished round\t\n", impl)
		return
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", impl,
		Number(median(results, func(r *bench.Result) float64 { return r.ThroughputPerS })),
		latency(results, (*bench.Result).Headline, "50"),
		latency(results, (*bench.Result).Headline, "99"),
		latency(results, func(r *bench.Result) *bench.Summary { return r.Latency.Acquire }, "50"),
		Duration(median(results, func(r *bench.Result) float64 { return r.Client.CPUNsPerOp })),
		Digits(median(results, func(r *bench.Result) float64 { return r.Client.AllocsPerOp })),
		standing(rel))
}

// standing puts the reference first, so that nobody has to guess what is divided
// by what: "muxlock is 15.2x [14.8..15.9]". What may be chance begins with ~.
func standing(rel bench.Relative) string {
	switch {
	case rel.Impl == "":
		return ""
	case rel.Impl == rel.Reference:
		return "reference"
	case rel.Throughput == nil || rel.Throughput.Min == 0:
		return "-"
	}
	t, chance := rel.Throughput, "" // this one over the reference: turned round here
	low, high := t.Min, t.Max
	if t.P != nil {
		low, high = t.CI[0], t.CI[1]
		if !t.Significant {
			chance = "~ "
		}
	}
	return fmt.Sprintf("%s%s is %sx [%s..%s]", chance, rel.Reference, Digits(1/t.Median), Digits(1/high), Digits(1/low))
}

// certainty says what the brackets of standing are.
func certainty(rows []bench.Relative) string {
	for _, row := range rows {
		if row.Throughput != nil && row.Throughput.P != nil {
			return "[95 % interval]; ~ is no more than chance (Mann-Whitney, p >= 0.05)"
		}
	}
	return "[least..greatest of the rounds]; it takes 4 rounds to tell a difference from chance"
}

func latency(results []*bench.Result, which func(*bench.Result) *bench.Summary, p string) string {
	measured := slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool {
		s := which(r)
		return s == nil || s.Count == 0
	})
	if len(measured) == 0 {
		return "-"
	}
	return Duration(median(measured, func(r *bench.Result) float64 { return float64(which(r).P[p]) }))
}

func median(results []*bench.Result, value func(*bench.Result) float64) float64 {
	var vs []float64
	for _, r := range results {
		vs = append(vs, value(r))
	}
	return medianOf(vs)
}

func medianOf(vs []float64) float64 {
	slices.Sort(vs)
	n := len(vs)
	return (vs[(n-1)/2] + vs[n/2]) / 2
}
