package result

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"muxlock/bench"
)

// History writes the events around overlaps and the faults, one JSON object a line, in
// the order of their begin.
func History(w io.Writer, r *bench.Result) error {
	type fault struct {
		Kind   string `json:"kind"` // fault
		Spec   string `json:"spec"`
		Master int    `json:"master"`
		FromNs int64  `json:"from_ns"`
		ToNs   int64  `json:"to_ns"`
	}
	type line struct {
		fromNs int64
		of     any
	}
	var lines []line
	for _, f := range r.Faults {
		from := int64(f.FromS * 1e9)
		lines = append(lines, line{from, fault{"fault", f.Spec, f.Master, from, int64(f.ToS * 1e9)}})
	}
	for _, event := range r.History {
		lines = append(lines, line{event.FromNs, event})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.fromNs, b.fromNs) })
	e := json.NewEncoder(w)
	for _, one := range lines {
		if err := e.Encode(one.of); err != nil {
			return err
		}
	}
	return nil
}
