package result

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"muxlock/bench"
)

// A Timing is one latency of a Result.
type Timing struct {
	Label string // for people
	Of    func(*bench.Result) *bench.Summary

	name  string // in JSON
	needs []bench.Need
}

// headline is the latency that comparisons use, see Result.Headline.
var headline = Timing{Label: Headline, Of: (*bench.Result).Headline, name: Headline}

// Timings has all latencies for people, in the order of tables. The validity used is for advice alone.
var Timings = func() (all []Timing) {
	labels := map[bench.Timing]string{bench.HandoverTime: "hand-over", bench.RemoteHandoverTime: "from other process"}
	for _, t := range bench.Timings() {
		if t != bench.ValidityUsedTime {
			all = append(all, Timing{cmp.Or(labels[t], t.String()), func(r *bench.Result) *bench.Summary { return r.Latency[t] }, t.String(), t.Needs()})
		}
	}
	return all
}()

// Figure returns the figure of a statistic of the latency: pNN, mean, min or max.
func (t Timing) Figure(statistic string) (Figure, error) {
	samples := int64(1)
	of := map[string]func(*bench.Summary) reading{ // of a non-empty summary
		"mean": func(s *bench.Summary) reading { return reading{value: s.Mean, atLeast: s.Censored > 0} },
		"min":  func(s *bench.Summary) reading { return reading{value: float64(s.Min)} },
		"max":  func(s *bench.Summary) reading { return reading{value: float64(s.Max), atLeast: s.Censored > 0} },
	}[statistic]
	if of == nil {
		text, ok := strings.CutPrefix(statistic, "p")
		p, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(p > 0 && p < 100) {
			return Figure{}, fmt.Errorf("%q is no statistic of a latency; there are mean, min, max and percentiles such as p50 or p99.9", statistic)
		}
		of = func(s *bench.Summary) reading { return percentile(s, p) }
		samples = bench.TailNeeds(p)
	}
	return Figure{
		Name: t.name + "." + statistic, Label: t.Label + " " + statistic, Unit: bench.UnitNs, needs: t.needs, samples: samples,
		read: func(r *bench.Result) reading {
			s := t.Of(r)
			if s == nil || s.Count == 0 {
				return reading{none: fmt.Sprintf("no %s was measured", t.name)}
			}
			return of(s)
		},
	}, nil
}

// percentile reads a percentile, and whether it has samples enough.
func percentile(s *bench.Summary, p float64) reading {
	now := reading{atLeast: s.CensoredAt(p)}
	if ns, ok := s.Percentile(p); ok {
		now.value = float64(ns)
	} else {
		now.none = "the result keeps no such percentile"
	}
	if s.Thin(p) {
		beyond := float64(s.Count) * min(p, 100-p) / 100
		now.thin = fmt.Sprintf("%.3g of %d samples lie beyond it, %d are needed", beyond, s.Count, bench.TailLeast)
	}
	return now
}
