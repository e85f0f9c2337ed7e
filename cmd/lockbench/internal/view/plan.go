package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/units"
)

// plan is how many masters and where, what one name bears, what a lock costs.
func (b *Blocks) plan(p *advice.Plan, ask advice.Ask) {
	b.Line("\nplan")
	b.Table(setsTable(p.Sets))
	b.Table(placedTable(p.Placed, ask))
	b.Table(hotTable(p.Hot))
	if c := p.Cost; c != nil {
		b.Line("Cost at %s: each master executes %s commands a lock, those in scripts included. A million locks take %s of cpu on all masters together, and %s in the clients, the generator included; under a heavier load, where more locks share a round, less",
			units.Rate(c.LocksPerS), units.Digits(c.Commands), million(c.ServerNs), million(c.ClientNs))
	}
}

// million is what a million of them take.
func million(ns float64) string { return long(ns * 1e6) }

// setsTable is sets of the masters that were measured.
func setsTable(sets []advice.Set) Table {
	zoned := slices.ContainsFunc(sets, func(s advice.Set) bool { return len(s.Zones) > 0 })
	t := Table{
		Caption: "Sets of these masters, each size the fastest: round trips of a quorum, sent at once",
		Columns: columns(2, "masters", "which", "p50", "p99", "p99, one down", "may fail"),
	}
	if zoned {
		t.Columns = append(t.Columns, columns(1, "zones", "a zone may fail", "down a year")...)
	}
	for _, s := range sets {
		var numbers []string
		for _, m := range s.Masters {
			numbers = append(numbers, fmt.Sprint(m))
		}
		which := strings.Join(numbers, ",")
		if which == "" {
			which = "more like these"
		}
		row := cells(fmt.Sprint(s.Size), which, known(s.P50, ns(s.P50)), known(s.P99, ns(s.P99)), known(s.OneDown, ns(s.OneDown)), fmt.Sprint(s.MayFail))
		switch {
		case len(s.Zones) > 0:
			row = append(row, cells(strings.Join(s.Zones, ","), yes(s.SurvivesZone), year(s.Unavailable))...)
		case zoned:
			row = append(row, cells(none, none, none)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// placedTable has a row for each number of masters.
func placedTable(placed []advice.Placed, ask advice.Ask) Table {
	t := Table{
		Caption: fmt.Sprintf("Without a quorum for so long a year, masters spread evenly; each is up for %s of the time and each zone for %s, independently; * survives the loss of a zone",
			exactly(ask.MasterUp), exactly(ask.ZoneUp)),
		Columns: columns(1, "masters", "1 zone", "2 zones", "3 zones"),
	}
	for _, p := range placed {
		if p.Zones == 1 {
			t.Rows = append(t.Rows, cells(fmt.Sprint(p.Masters), none, none, none))
		}
		text := year(p.Unavailable)
		if p.SurvivesZone {
			text += "*"
		}
		t.Rows[len(t.Rows)-1][p.Zones].Text = text
	}
	return t
}

// hotTable is what one name bears.
func hotTable(h advice.Hot) Table {
	t := Table{Caption: "The hottest name", Columns: columns(1, "changes hands", "at most")}
	if h.Rate > 0 {
		t.Columns = append(t.Columns, columns(0, "occupied at "+units.Rate(h.Rate), "mean wait")...)
	}
	for _, w := range h.Ways {
		row := cells(w.How, units.Rate(w.PerS))
		switch {
		case h.Rate > 0 && w.Occupied >= 1:
			row = append(row, Cell{units.Share(w.Occupied), Bad}, Cell{"grows", Bad})
		case h.Rate > 0:
			row = append(row, cells(units.Share(w.Occupied), ns(w.Wait))...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func yes(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }

// exactly is a share of which each 9 counts.
func exactly(share float64) string { return fmt.Sprintf("%.10g%%", 100*share) }

// year is a part of one.
func year(part float64) string { return long(part * float64(365*24*time.Hour)) }

// long is a time that may be days.
func long(ns float64) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if ns >= 2*float64(u.of) {
			return units.Digits(ns/float64(u.of)) + u.name
		}
	}
	return units.Duration(ns)
}
