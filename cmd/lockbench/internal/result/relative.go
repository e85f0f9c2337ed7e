package result

import (
	"slices"

	"muxlock/bench"
	"muxlock/internal/stats"
)

// Relative compares one implementation with the reference. Each figure has the ratio within each
// round, then the median and the spread of the rounds. Above 1 means more than the reference,
// which is good only for throughput. A figure is absent unless every round has it on both sides.
// A lower bound does not count: its ratio is not known.
type Relative struct {
	Impl      string           `json:"impl"`
	Reference string           `json:"reference"`
	Load      LoadName         `json:"load,omitempty"` // of several
	Rounds    int              `json:"rounds"`         // rounds that both finished
	Latency   string           `json:"latency"`        // of headline: response or cycle
	Ratios    map[string]Ratio `json:"ratios"`         // by figure
}

// compared are the figures of Relative.
var compared = []string{
	"throughput", "acquired_per_s", "headline.p50", "headline.p99", "acquire.p50", "acquire.p99", "max_wait_ns", "cpu_ns_per_op", "allocs_per_op",
}

// Ratio is over rounds. Each round is a pair: both sides ran in the same minute.
type Ratio struct {
	Median float64 `json:"median"`
	// OfMedians is the ratio of the medians over the rounds. If it differs much from Median, the rounds differ.
	OfMedians float64 `json:"of_medians"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	// P is the two-sided p-value of a sign test: whether the median may be 1. CI is the median's 95 %
	// interval, low and high. Absent: too few rounds to tell a difference from chance.
	CI          []float64 `json:"ci,omitempty"`
	P           *float64  `json:"p_value,omitempty"`
	Significant bool      `json:"significant"` // P below 0.05; else undecided
}

// RelativeTo compares every implementation with the reference, in order of first appearance. The
// reference has a row too, with ratios of 1. Interrupted runs do not count. Without a result of
// the reference there are no rows.
func RelativeTo(reference string, results []*bench.Result) []Relative {
	rows := []Relative{}
	base := Finished(results, reference)
	for _, impl := range Impls(results) {
		if own := Finished(results, impl); len(own) > 0 && len(base) > 0 {
			rows = append(rows, relative(own, base))
		}
	}
	return rows
}

// relative compares the finished runs of one implementation with those of the reference.
func relative(own, base []*bench.Result) Relative {
	row := Relative{
		Impl: own[0].Impl, Reference: base[0].Impl, Load: LoadName(own[0].Setting[LoadSetting]), Latency: "cycle", Ratios: map[string]Ratio{},
	}
	if own[0].Latency[bench.ResponseTime] != nil {
		row.Latency = "response"
	}
	var rounds [][2]*bench.Result
	for _, r := range own {
		if i := slices.IndexFunc(base, func(b *bench.Result) bool { return b.Round == r.Round }); i >= 0 {
			rounds = append(rounds, [2]*bench.Result{r, base[i]})
		}
	}
	row.Rounds = len(rounds)
	for _, name := range compared {
		if r, known := ratioOf(MustFigure(name), rounds); known {
			row.Ratios[name] = r
		}
	}
	return row
}

// ratioOf divides the first result of each round by the second.
func ratioOf(f Figure, rounds [][2]*bench.Result) (r Ratio, known bool) {
	var ratios, values, bases []float64
	for _, pair := range rounds {
		v := f.values(pair[:])
		if len(v) < 2 || v[1].V == 0 || v[0].AtLeast || v[1].AtLeast {
			return Ratio{}, false // the ratio of the rounds that went well would mislead
		}
		ratios, values, bases = append(ratios, v[0].V/v[1].V), append(values, v[0].V), append(bases, v[1].V)
	}
	if len(ratios) == 0 {
		return Ratio{}, false
	}
	r = over(ratios)
	r.OfMedians = stats.Median(values) / stats.Median(bases)
	return r, true
}

// over returns the Ratio of ratios.
func over(ratios []float64) Ratio {
	r := Ratio{Median: stats.Median(ratios), Min: slices.Min(ratios), Max: slices.Max(ratios)}
	if len(ratios) >= stats.PairsNeeded {
		p, low, high := stats.SignTest(ratios, 1)
		r.CI, r.P, r.Significant = []float64{low, high}, &p, p < stats.Alpha
	}
	return r
}
