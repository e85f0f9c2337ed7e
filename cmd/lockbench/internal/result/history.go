package result

import (
	"bufio"
	"encoding/json"
	"io"

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
	b := bufio.NewWriter(w) // Flush returns its first error
	e := json.NewEncoder(b)
	faults := r.Faults
	put := func(before int64) {
		for len(faults) > 0 && int64(faults[0].FromS*1e9) <= before {
			f := faults[0]
			_ = e.Encode(fault{"fault", f.Spec, f.Master, int64(f.FromS * 1e9), int64(f.ToS * 1e9)})
			faults = faults[1:]
		}
	}
	for _, event := range r.History {
		put(event.FromNs)
		_ = e.Encode(event)
	}
	put(1 << 62)
	return b.Flush()
}
