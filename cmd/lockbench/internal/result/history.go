package result

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"muxlock/bench"
)

// History writes the events around violations and the faults, one JSON object a line, in the
// order in which they began.
func History(w io.Writer, r *bench.Result) error {
	type line struct {
		fromNs int64
		of     any
	}
	var lines []line
	for _, f := range r.Faults {
		from, to := int64(f.FromS*1e9), int64(f.ToS*1e9)
		lines = append(lines, line{from, map[string]any{"kind": "fault", "spec": f.Spec, "master": f.Master, "from_ns": from, "to_ns": to}})
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
