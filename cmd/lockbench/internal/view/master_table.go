package view

import (
	"fmt"
	"math"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
	"muxlock/internal/stats"
)

// A master is slow if its round trip is this many times the median of the others.
const slow = 2

// masterTable shows a prober's findings about each master. Away is the share of the time between an
// unanswered probe and the next answer.
func masterTable(all []bench.Master) Table {
	t := Table{Texts: 1, Heads: []string{"master", "rtt p50", "p99", "max", "no reply", "away", "clock rate", ""}, Remarks: 1}
	for i, m := range all {
		down, longest := Cell{Text: "0"}, units.None
		if m.Down > 0 {
			down = Cell{Text: units.Share(m.Down), Class: Bad}
		}
		if m.RTT != nil && m.RTT.Count > 0 {
			longest = ns(m.RTT.Max)
		}
		row := append(cells(m.Addr, units.Percentile(m.RTT, "50"), units.Percentile(m.RTT, "99"), longest, units.Number(m.Lost)), down)
		t.Rows = append(t.Rows, append(row, cells(clockText(m.Clock), remark(all, i))...))
	}
	return t
}

// A clock rate that may be wrong by more than this was not measured: the run was too short.
const clockMost = 10_000 // ppm

// clockText writes a master's clock in a few words; none if it is not known.
func clockText(c *bench.Clock) string {
	if c == nil {
		return units.None
	}
	text := either(math.Abs(c.PPM) <= c.PPMError, "0", fmt.Sprintf("%+.0f", c.PPM)) + fmt.Sprintf("±%.0fppm", max(c.PPMError, 1))
	return either(c.PPMError > clockMost, units.None, text) + either(c.JumpNs > int64(time.Millisecond), " step "+ns(c.JumpNs), "")
}

// remark marks a master that was away, or slow.
func remark(masters []bench.Master, i int) string {
	var others []float64
	for j, m := range masters {
		if j != i && m.RTT != nil && m.RTT.Count > 0 {
			others = append(others, float64(m.RTT.P["50"]))
		}
	}
	switch m := masters[i]; {
	case m.Down > 0:
		return "<- away"
	case m.RTT != nil && len(others) > 0 && float64(m.RTT.P["50"]) > slow*stats.Median(others):
		return "<- slow"
	}
	return ""
}
