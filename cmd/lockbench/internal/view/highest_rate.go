package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// highestRates shows which objectives each rate of a sweep met, and the highest rate in a row.
func (b *Blocks) highestRates(doc result.Document) {
	b.Line("up from the lowest rate: %d runs each, of at least %s, and most decide; --workers are the most operations in flight", result.RateRuns, doc.Config.Duration)
	for _, h := range doc.Sweep.Highest {
		b.Line("")
		t := Table{Heads: append(append([]string{"rate/s"}, doc.Config.SLO...), h.Impl), Remarks: 1}
		for _, tried := range h.Rates {
			results, row := tried.Of(doc.Results), cells(units.In(bench.UnitCount, tried.RatePerS))
			for _, runs := range judged(results, h.Impl) {
				row = append(row, objectiveCell(runs))
			}
			for len(row) <= len(doc.Config.SLO) {
				row = append(row, Cell{Text: none})
			}
			t.Rows = append(t.Rows, append(row, rateCell(tried, results)))
		}
		b.Table(t)
		b.Line("%s", Highest(h))
	}
	b.growth(doc)
}

// objectiveCell writes the median of an objective's values, and whether most runs met it.
func objectiveCell(runs []bench.SLO) Cell {
	value, passed, missed, _ := counted(runs)
	switch {
	case 2*passed > len(runs):
		return Cell{Text: value + " met", Class: Good}
	case 2*missed > len(runs):
		return Cell{Text: value + " missed", Class: Bad}
	}
	return Cell{Text: value + " not judged", Class: Bad}
}

// rateCell writes the outcome of a rate, and what besides the objectives speaks against its runs.
func rateCell(t result.RateTried, results []*bench.Result) Cell {
	text := fmt.Sprintf("%s in %d of %d runs", t.Outcome, t.Votes(t.Outcome), len(t.Runs))
	switch t.Outcome {
	case "":
		return Cell{Text: "interrupted"}
	case result.RateMet:
		return Cell{Text: text, Class: Good}
	case result.RateTooFew:
		return Cell{Text: string(t.Outcome) + "; a longer --duration allows more", Class: Bad}
	}
	var against []string
	for _, r := range results {
		for _, reason := range r.Valid.But(result.ReasonEmbedded, bench.ReasonFew).Reasons {
			against = append(against, string(reason.Kind))
		}
		if t.Outcome == result.RateSpoiled && result.Stalled(r) {
			against = append(against, "the machine stalled")
		}
	}
	if slices.Sort(against); len(against) > 0 {
		text += ": " + strings.Join(slices.Compact(against), "; ")
	}
	return Cell{Text: text, Class: Bad}
}

// Highest writes what a sweep of rates found in a sentence.
func Highest(h result.HighestRate) string {
	_, next := h.Edge()
	does := map[result.Outcome]string{
		"": "was not decided on", result.RateMissed: "missed", result.RateSpoiled: "was spoiled by the machine", result.RateTooFew: "had too few operations",
	}
	if h.RatePerS == 0 {
		return fmt.Sprintf("%s: no rate in a row met all objectives: the lowest, %s, %s", h.Impl, units.Rate(next.RatePerS), does[next.Outcome])
	}
	above := units.Rate(next.RatePerS) + " " + does[next.Outcome]
	if next.RatePerS == 0 {
		above = "no higher one was tried"
	}
	return fmt.Sprintf("%s: %s is the highest rate in a row that met all objectives; %s", h.Impl, units.Rate(h.RatePerS), above)
}
