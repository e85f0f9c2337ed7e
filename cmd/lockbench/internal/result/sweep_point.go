package result

import (
	"maps"
	"slices"
	"strings"

	"muxlock/bench"
)

// Sweep has the figures of several settings.
type Sweep struct {
	Params []SweepParam `json:"params"`
	Points []SweepPoint `json:"points"` // in the order of the settings
	// Highest is of a sweep of rates with objectives only, for each implementation.
	Highest []HighestRate `json:"highest,omitempty"`
}

// SweepParam is a flag that a sweep varies.
type SweepParam struct {
	Name   string       `json:"name"` // workers
	Unit   string       `json:"unit"` // of Number: ns, or empty
	Values []SweepValue `json:"values"`
}

// SweepValue is one value of a SweepParam.
type SweepValue struct {
	Text   string   `json:"text"`             // as on the command line
	Number *float64 `json:"number,omitempty"` // for an axis; absent if it is none, as zipf:0.9
}

// SweepPoint is one implementation at one setting.
type SweepPoint struct {
	Setting map[string]string  `json:"setting"` // by SweepParam.Name
	Impl    string             `json:"impl"`
	Results Indices            `json:"results"`
	Medians map[string]float64 `json:"medians"` // over the finished rounds, by figure; those that a round has
	Valid   bool               `json:"valid"`   // all rounds are valid
}

// Swept are the figures of a sweep, in the order of its table.
var Swept = []string{"offered_per_s", "throughput", "headline.p50", "headline.p99", "failure_rate", "handover.p50", "cpu_ns_per_op"}

// SettingText writes a setting, such as keys=1 workers=8.
func SettingText(setting map[string]string) string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(setting)) {
		values = append(values, name+"="+setting[name])
	}
	return strings.Join(values, " ")
}

// NewSweep groups the results by setting and implementation.
func NewSweep(params []SweepParam, results []*bench.Result) *Sweep {
	s := &Sweep{Params: notNil(params), Points: []SweepPoint{}}
	for i, r := range results {
		if r.Interrupted() {
			continue
		}
		at := slices.IndexFunc(s.Points, func(p SweepPoint) bool { return p.Impl == r.Impl && maps.Equal(p.Setting, r.Setting) })
		if at < 0 {
			at = len(s.Points)
			s.Points = append(s.Points, SweepPoint{Setting: r.Setting, Impl: r.Impl, Medians: map[string]float64{}, Valid: true})
		}
		p := &s.Points[at]
		p.Results = append(p.Results, i)
		p.Valid = p.Valid && r.Valid.OK
	}
	for _, p := range s.Points {
		for _, figure := range Swept {
			if v, known := MustFigure(figure).Median(p.Results.Of(results)); known {
				p.Medians[figure] = v
			}
		}
	}
	return s
}

// results returns all indices into Document.Results.
func (s *Sweep) results() (all []int) {
	for _, p := range s.Points {
		all = append(all, p.Results...)
	}
	for _, h := range s.Highest {
		for _, t := range h.Rates {
			all = append(all, t.Results...)
		}
	}
	return all
}

// Indices are places in Document.Results.
type Indices []int

// Of returns the results there.
func (i Indices) Of(results []*bench.Result) (picked []*bench.Result) {
	for _, at := range i {
		picked = append(picked, results[at])
	}
	return picked
}
