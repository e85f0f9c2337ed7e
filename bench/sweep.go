package bench

import (
	"maps"
	"slices"

	"muxlock/internal/stats"
)

// Sweep is what runs of several settings show together.
type Sweep struct {
	Params []SweepParam `json:"params"`
	Points []SweepPoint `json:"points"` // in the order of the settings
}

// SweepParam is one flag that a sweep gives one value after the other.
type SweepParam struct {
	Name   string       `json:"name"` // workers
	Unit   string       `json:"unit"` // of Number: ns, or empty
	Values []SweepValue `json:"values"`
}

// SweepValue is one of them.
type SweepValue struct {
	Text   string   `json:"text"`             // as on the command line
	Number *float64 `json:"number,omitempty"` // for an axis; absent where it is none, as zipf:0.9
}

// SweepPoint is one implementation at one setting: medians over the rounds that
// ended. A figure that none of them has is 0.
type SweepPoint struct {
	Setting        map[string]string `json:"setting"` // by SweepParam.Name
	Impl           string            `json:"impl"`
	Results        []int             `json:"results"` // where they stand in Document.Results
	OfferedPerS    float64           `json:"offered_per_s"`
	ThroughputPerS float64           `json:"throughput_per_s"`
	P50Ns          float64           `json:"p50_ns"` // of response in an open loop, else of cycle
	P99Ns          float64           `json:"p99_ns"`
	HandoverP50Ns  float64           `json:"handover_p50_ns"`
	CPUNsPerOp     float64           `json:"cpu_ns_per_op"`
	Valid          bool              `json:"valid"` // all of them
}

// NewSweep puts the results together that have the same setting and implementation.
func NewSweep(params []SweepParam, results []*Result) *Sweep {
	s := &Sweep{Params: notNil(params), Points: []SweepPoint{}}
	for i, r := range results {
		if r.Interrupted() {
			continue
		}
		at := slices.IndexFunc(s.Points, func(p SweepPoint) bool { return p.Impl == r.Impl && maps.Equal(p.Setting, r.Setting) })
		if at < 0 {
			at = len(s.Points)
			s.Points = append(s.Points, SweepPoint{Setting: r.Setting, Impl: r.Impl, Valid: true})
		}
		p := &s.Points[at]
		p.Results = append(p.Results, i)
		p.Valid = p.Valid && r.Valid.OK
	}
	for i := range s.Points {
		s.Points[i].fill(results)
	}
	return s
}

func (p *SweepPoint) fill(results []*Result) {
	figure := func(of func(*Result) (float64, bool)) float64 {
		var values []float64
		for _, i := range p.Results {
			if v, ok := of(results[i]); ok {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			return 0
		}
		return stats.Median(values)
	}
	percentile := func(of func(*Result) *Summary, which string) float64 {
		return figure(func(r *Result) (float64, bool) {
			s := of(r)
			if s == nil || s.Count == 0 {
				return 0, false
			}
			return float64(s.P[which]), true
		})
	}
	p.OfferedPerS = figure(func(r *Result) (float64, bool) { return float64(r.Totals.Offered) / r.DurationS, r.DurationS > 0 })
	p.ThroughputPerS = figure(func(r *Result) (float64, bool) { return r.ThroughputPerS, true })
	p.P50Ns = percentile((*Result).Headline, "50")
	p.P99Ns = percentile((*Result).Headline, "99")
	p.HandoverP50Ns = percentile(func(r *Result) *Summary { return r.Latency.Handover }, "50")
	p.CPUNsPerOp = figure(func(r *Result) (float64, bool) { return r.Client.CPUNsPerOp, r.Client.CPUNsPerOp > 0 })
}
