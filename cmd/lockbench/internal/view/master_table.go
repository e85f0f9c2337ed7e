package view

import (
	"fmt"
	"math"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

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
	switch {
	case masters[i].Down > 0:
		return "<- away"
	case bench.SlowMaster(masters, i):
		return "<- slow"
	}
	return ""
}
