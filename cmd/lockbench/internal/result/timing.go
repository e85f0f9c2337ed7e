package result

import (
	"fmt"
	"strconv"
	"strings"

	"muxlock/bench"
)

// A Timing is one latency of a Result.
type Timing struct {
	Name  string // in JSON
	Label string // for people
	Of    func(*bench.Result) *bench.Summary

	needs []need // as in Figure
}

// headline is the latency that comparisons use, see Result.Headline.
var headline = Timing{Name: Headline, Label: Headline, Of: (*bench.Result).Headline}

// Timings has all latencies, in the order of tables.
var Timings = []Timing{
	{"response", "response", func(r *bench.Result) *bench.Summary { return r.Latency.Response }, []need{openLoop}},
	{"wait", "wait", func(r *bench.Result) *bench.Summary { return r.Latency.Wait }, []need{openLoop}},
	{"lag", "lag", func(r *bench.Result) *bench.Summary { return r.Latency.Lag }, []need{openLoop}},
	{"service", "service", func(r *bench.Result) *bench.Summary { return r.Latency.Service }, nil},
	{"acquire", "acquire", func(r *bench.Result) *bench.Summary { return r.Latency.Acquire }, nil},
	{"release", "release", func(r *bench.Result) *bench.Summary { return r.Latency.Release }, nil},
	{"cycle", "cycle", func(r *bench.Result) *bench.Summary { return r.Latency.Cycle }, nil},
	{"extend", "extend", func(r *bench.Result) *bench.Summary { return r.Latency.Extend }, []need{extends}},
	{"hold", "hold", func(r *bench.Result) *bench.Summary { return r.Latency.Hold }, []need{holds}},
	{"handover", "hand-over", func(r *bench.Result) *bench.Summary { return r.Latency.Handover }, []need{waiting}},
	{"handover_remote", "from other process", func(r *bench.Result) *bench.Summary { return r.Latency.HandoverRemote }, []need{waiting, procs}},
	{"uncontended", "uncontended", func(r *bench.Result) *bench.Summary { return r.Latency.Uncontended }, []need{waiting}},
}

// Figure returns the figure of a statistic of the latency: pNN, mean, min or max.
func (t Timing) Figure(statistic string) (Figure, error) {
	samples := int64(1)
	var of func(*bench.Summary) reading // of a non-empty summary
	switch statistic {
	case "mean":
		of = func(s *bench.Summary) reading { return reading{value: s.Mean, atLeast: s.Censored > 0} }
	case "min":
		of = func(s *bench.Summary) reading { return reading{value: float64(s.Min)} }
	case "max":
		of = func(s *bench.Summary) reading { return reading{value: float64(s.Max), atLeast: s.Censored > 0} }
	default:
		text, ok := strings.CutPrefix(statistic, "p")
		p, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(p > 0 && p < 100) {
			return Figure{}, fmt.Errorf("%q is no statistic of a latency; there are mean, min, max and percentiles such as p50 or p99.9", statistic)
		}
		of = func(s *bench.Summary) reading { return percentile(s, p) }
		samples = bench.TailNeeds(p)
	}
	return Figure{
		Name: t.Name + "." + statistic, Label: t.Label + " " + statistic, Unit: bench.UnitNs, needs: t.needs, samples: samples,
		read: func(r *bench.Result) reading {
			s := t.Of(r)
			if s == nil || s.Count == 0 {
				return reading{none: fmt.Sprintf("no %s was measured", t.Name)}
			}
			now := of(s)
			now.whole = s.Count
			return now
		},
	}, nil
}

// percentile reads a kept percentile, or any other one from the histogram.
func percentile(s *bench.Summary, p float64) reading {
	now := reading{atLeast: s.CensoredAt(p)}
	if kept, ok := s.P[strconv.FormatFloat(p, 'f', -1, 64)]; ok {
		now.value = float64(kept)
	} else if h, err := s.Histogram(); err == nil && h.Count() > 0 {
		now.value = float64(h.Quantile(p / 100))
	} else {
		now.none = "the result keeps no such percentile"
	}
	if s.Thin(p) {
		beyond := float64(s.Count) * min(p, 100-p) / 100
		now.thin = fmt.Sprintf("%.3g of %d samples lie beyond it, %d are needed", beyond, s.Count, bench.TailLeast)
	}
	return now
}
