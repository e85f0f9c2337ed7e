package report

import (
	"fmt"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/chart"
	"muxlock/cmd/lockbench/internal/output"
)

// perMaster is what each master was like beside the load.
func perMaster(doc output.Document) Section {
	s := Section{
		ID: "masters", Title: "Masters",
		Note: "Round trips of a prober with connections of its own, beside the load. Down is the part of the time between an unanswered probe and the next answer.",
	}
	for _, r := range doc.Results {
		if len(r.PerMaster) == 0 {
			continue
		}
		s.Panels = append(s.Panels, Panel{Name: runName(doc, r), Charts: []Chart{masterStrip(r)}, Tables: []Table{masterTable(r)}})
	}
	return s
}

func masterStrip(r *bench.Result) chart.Strip {
	t := timesOf(r.Series)
	s := chart.Strip{Title: "median round trip, second by second", X: seconds, At: t.ends, Text: output.Duration, Bands: bands(r)}
	for i, m := range r.PerMaster {
		row := chart.StripRow{Label: m.Addr}
		if m.RTT != nil && m.RTT.Count > 0 {
			row.Text = "p50 " + output.Percentile(m.RTT, "50")
		}
		for _, p := range t.points {
			v := chart.Unseen
			if i < len(p.MasterNs) {
				v = float64(p.MasterNs[i])
			}
			row.Values = append(row.Values, v)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func masterTable(r *bench.Result) Table {
	t := Table{Columns: columns("master", "rtt p50", "rtt p99", "rtt max", "lost", "down", "clock gains", "clock jump", "clock ahead")}
	for _, m := range r.PerMaster {
		row := []Cell{Text(m.Addr), at(m.RTT, "50"), at(m.RTT, "99"), None(), Count(m.Lost), Share(m.Down), None(), None(), None()}
		if m.RTT != nil && m.RTT.Count > 0 {
			row[3] = Ns(float64(m.RTT.Max))
		}
		if m.Lost > 0 {
			row[4].Class = "bad"
		}
		if m.Down > 0 {
			row[5].Class = "bad"
		}
		if c := m.Clock; c != nil {
			row[6] = Cell{
				Text:  fmt.Sprintf("%+.1f ±%.1f ppm", c.PPM+0, c.PPMError), // +0: no -0.0
				Title: fmt.Sprintf("%s us a second, ± %s, watched for %s", plain(c.PPM), plain(c.PPMError), output.Duration(float64(c.WatchedNs))),
			}
			row[7], row[8] = signed(c.JumpNs), signed(c.OffsetNs)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// signed is a time that may be below 0.
func signed(ns int64) Cell {
	c := Ns(max(float64(ns), -float64(ns)))
	c.Title = plain(float64(ns)) + " ns"
	if ns < 0 {
		c.Text = "-" + c.Text
	}
	return c
}
