package view

import (
	"fmt"
	"math"
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// slow is how many times the median of the others a master's round trip must be for it
// to be pointed at.
const slow = 2

// masters is what each master was like beside the load.
func masters(doc result.Document) Section {
	s := Section{
		ID: "masters", Title: "Masters",
		Note: "Round trips of a prober with connections of its own, beside the load. Down is the part of the time between an unanswered probe and the next answer.",
	}
	for _, r := range doc.Results {
		if len(r.PerMaster) > 0 {
			s.Panels = append(s.Panels, Panel{Name: runName(doc, r), Charts: []Chart{masterStrip(r)}, Tables: []Table{masterTable(r.PerMaster)}})
		}
	}
	return s
}

func masterStrip(r *bench.Result) Strip {
	t := timesOf(r.Series)
	s := Strip{Title: "median round trip, second by second", X: seconds, At: t.ends, Text: units.Duration, Bands: bands(r)}
	for i, m := range r.PerMaster {
		row := StripRow{Label: m.Addr}
		if m.RTT != nil && m.RTT.Count > 0 {
			row.Text = "p50 " + units.Percentile(m.RTT, "50")
		}
		for _, p := range t.points {
			v := Unseen
			if i < len(p.MasterNs) {
				v = float64(p.MasterNs[i])
			}
			row.Values = append(row.Values, v)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// masterTable is what a prober beside the load saw of each master.
func masterTable(all []bench.Master) Table {
	t := Table{Columns: slices.Concat(columns("master", "rtt p50", "p99", "max", "lost", "down"), []Column{
		{Name: "clock", In: TerminalOnly}, {Name: "clock gains", In: PageOnly}, {Name: "clock jump", In: PageOnly}, {Name: "clock ahead", In: PageOnly},
		{Left: true, In: TerminalOnly},
	})}
	for i, m := range all {
		down := Cell{Text: "0", Title: "0"}
		if m.Down > 0 {
			down = inUnit(bench.UnitShare, m.Down)
			down.Class = Bad
		}
		gains, jump, ahead := none, none, none
		if c := m.Clock; c != nil {
			gains = Cell{
				Text:  fmt.Sprintf("%+.1f ±%.1f ppm", c.PPM+0, c.PPMError), // +0: no -0.0
				Title: fmt.Sprintf("%s us a second, ± %s, watched for %s", plain(c.PPM), plain(c.PPMError), units.Duration(float64(c.WatchedNs))),
			}
			jump, ahead = signed(c.JumpNs), signed(c.OffsetNs)
		}
		t.Rows = append(t.Rows, []Cell{
			words(m.Addr), percentile(m.RTT, "50"), percentile(m.RTT, "99"), longest(m.RTT), alarming(m.Lost), down,
			words(Clock(m.Clock)), gains, jump, ahead, words(remark(all, i)),
		})
	}
	return t
}

// Clock is a master's clock in a few words; "-" if too little was seen of it.
func Clock(c *bench.Clock) string {
	if c == nil {
		return "-"
	}
	text := fmt.Sprintf("%+.0f±%.0fppm", c.PPM, max(c.PPMError, 1))
	if math.Abs(c.PPM) <= c.PPMError {
		text = fmt.Sprintf("0±%.0fppm", max(c.PPMError, 1))
	}
	if c.JumpNs > int64(time.Millisecond) {
		text += " step " + units.Duration(float64(c.JumpNs))
	}
	return text
}

// Slow tells whether a master is much slower than most of the others.
func Slow(masters []bench.Master, i int) bool {
	var others []int64
	for j, m := range masters {
		if j != i && m.RTT != nil && m.RTT.Count > 0 {
			others = append(others, m.RTT.P["50"])
		}
	}
	if len(others) == 0 || masters[i].RTT == nil {
		return false
	}
	slices.Sort(others)
	return masters[i].RTT.P["50"] > slow*others[len(others)/2]
}

func remark(masters []bench.Master, i int) string {
	switch {
	case masters[i].Down > 0:
		return "<- was down"
	case Slow(masters, i):
		return "<- slow"
	}
	return ""
}
