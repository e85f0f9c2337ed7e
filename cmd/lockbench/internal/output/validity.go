package output

import (
	"fmt"

	"muxlock/bench"
)

// outlasted warns of an implementation's leases that were too short, over all its results.
func outlasted(results []*bench.Result, impl string) (lines []string) {
	var t bench.Totals
	for _, r := range results {
		if r.Impl == impl {
			t.Acquired += r.Totals.Acquired
			t.LostValidity += r.Totals.LostValidity
			t.LateQuorum += r.Totals.LateQuorum
		}
	}
	warn := func(n, all int64, one, many string) {
		if n > 0 {
			what := map[bool]string{true: one, false: many}[n == 1]
			lines = append(lines, fmt.Sprintf("WARNING %s: %s %s (%s%%): a longer --ttl, or lockbench advise", impl, Number(float64(n)), what, Digits(100*float64(n)/float64(max(all, 1)))))
		}
	}
	warn(t.LostValidity-t.LateQuorum, t.Acquired, "lock outlasted its validity before it was released", "locks outlasted their validity before they were released")
	warn(t.LateQuorum, t.Quorums(), "quorum came too late to leave any validity", "quorums came too late to leave any validity")
	return lines
}
