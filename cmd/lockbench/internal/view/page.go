package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// Page is what a browser shows of a document.
type Page struct {
	Title, Subtitle string
	Verdicts        []Verdict
	Tiles           []Tile
	Sections        []Section
	Loaded          bool // there are results
	Open            bool // open loop
}

// NewPage is the page of a document. The rest is what a document has not: what
// implementations do not promise, and the command line that makes such a result.
func NewPage(doc result.Document, caveats map[string]string, again string) Page {
	p := Page{Title: title(doc), Subtitle: subtitle(doc), Verdicts: verdicts(doc), Loaded: len(doc.Results) > 0, Open: doc.Open()}
	if kind := doc.Kind(); kind == result.Sweep || kind == result.Capacity { // what puts all runs of an implementation together would mislead
		p.Sections = []Section{capacities(doc), growth(doc)}
	} else {
		p.Tiles = append(advisedTiles(doc.Advice), tiles(doc)...)
		p.Sections = []Section{validated(doc), advised(doc), comparison(doc), objectives(doc), latencies(doc), timeline(doc), masters(doc), sharing(doc), holding(doc), cost(doc)}
	}
	p.Sections = append(p.Sections, notes(doc, caveats), setting(doc, again), surroundings(doc))
	return p
}

// notes is the errors seen, and what the implementations do not promise.
func notes(doc result.Document, caveats map[string]string) Section {
	s := Section{ID: "notes", Title: "Warnings and caveats"}
	var errors, promises []string
	for _, r := range doc.Results {
		for _, sample := range r.ErrorSamples {
			errors = append(errors, r.Impl, strings.ReplaceAll(sample, "\n", "; "))
		}
	}
	for _, impl := range result.Impls(doc.Results) {
		promises = append(promises, impl, caveats[impl])
	}
	seen, not := facts(errors...), facts(promises...)
	seen.Caption, not.Caption = "Errors seen (the first few that differ)", "What they do not promise"
	s.Tables = []Table{seen, not}
	return s
}

// Verdict is one judgement at the head of a page.
type Verdict struct {
	Class string // good, bad or faint
	Head  string
	Items []string
}

// Tile is one key figure.
type Tile struct {
	Name  string
	Value Cell
	Note  string
}

func title(doc result.Document) string {
	names := result.Impls(doc.Results)
	if len(names) == 0 {
		names = doc.Config.Impls
	}
	command := doc.Config.Command
	switch {
	case doc.Kind() == result.Advise: // also of a result of another command
		command = "advise"
	case command == "":
		command = "run"
	}
	if len(names) == 0 {
		return "lockbench " + command
	}
	return "lockbench " + command + ": " + strings.Join(names, ", ")
}

func subtitle(doc result.Document) string {
	if doc.Kind() == result.Validate {
		return "predictions beside measurements · " + doc.Config.Duration.String() + " a setting"
	}
	if doc.Kind() == result.Advise {
		return strings.Join(askedFor(doc), " · ")
	}
	parts := workload(doc)
	if n := doc.Config.Rounds; n > 1 {
		parts = append(parts, fmt.Sprintf("%d rounds of %s", n, doc.Config.Duration))
	} else {
		parts = append(parts, doc.Config.Duration.String())
	}
	return strings.Join(parts, " · ")
}

func verdicts(doc result.Document) (vs []Verdict) {
	if doc.Kind() == result.Validate {
		return validationVerdicts(doc.Validation)
	}
	if len(doc.Results) == 0 {
		return []Verdict{{Bad, "Nothing was measured", nil}}
	}
	var reasons, unsafe []string
	var met, missed int
	valid := 0
	var slo []string
	for _, r := range doc.Results {
		if r.Valid.OK {
			valid++
		}
		for _, reason := range r.Valid.Reasons {
			reasons = append(reasons, prefix(doc, r)+reason)
		}
		if n := r.Safety.Overlaps; n > 0 {
			unsafe = append(unsafe, fmt.Sprintf("%s%s overlaps: a lock was acquired while another validly held it", prefix(doc, r), units.Number(n)))
		}
		if n := r.Safety.FenceViolations; n > 0 {
			unsafe = append(unsafe, fmt.Sprintf("%s%s fencing tokens did not grow", prefix(doc, r), units.Number(n)))
		}
		for _, s := range r.SLO {
			if s.Pass {
				met++
				continue
			}
			missed++
			slo = append(slo, prefix(doc, r)+s.Text)
		}
	}
	if len(unsafe) > 0 {
		vs = append(vs, Verdict{Bad, "Safety violation", few(unsafe)})
	} else {
		vs = append(vs, Verdict{Good, "No two holders at once", nil})
	}
	if valid == len(doc.Results) {
		vs = append(vs, Verdict{Good, "Valid", nil})
	} else {
		head := "Not valid"
		if len(doc.Results) > 1 {
			head = fmt.Sprintf("%d of %d runs not valid", len(doc.Results)-valid, len(doc.Results))
		}
		vs = append(vs, Verdict{Bad, head, few(unique(reasons))})
	}
	switch {
	case missed > 0:
		vs = append(vs, Verdict{Bad, fmt.Sprintf("%d of %d objectives missed", missed, met+missed), few(slo)})
	case met == 1:
		vs = append(vs, Verdict{Good, "The objective is met", nil})
	case met > 0:
		vs = append(vs, Verdict{Good, fmt.Sprintf("All %d objectives met", met), nil})
	}
	return vs
}

// prefix names the run that a line is about, where there are several.
func prefix(doc result.Document, r *bench.Result) string {
	if len(doc.Results) == 1 {
		return ""
	}
	return runName(doc, r) + ": "
}

func runName(doc result.Document, r *bench.Result) string {
	if doc.Config.Rounds > 1 {
		return fmt.Sprintf("%s, round %d", r.Impl, r.Round)
	}
	return r.Impl
}

func unique(lines []string) (once []string) {
	seen := map[string]bool{}
	for _, line := range lines {
		if !seen[line] {
			seen[line] = true
			once = append(once, line)
		}
	}
	return once
}

// mostItems is how many lines stand at the head; tables further down have all.
const mostItems = 6

func few(lines []string) []string {
	if len(lines) <= mostItems {
		return lines
	}
	return append(lines[:mostItems-1:mostItems-1], fmt.Sprintf("and %d more", len(lines)-mostItems+1))
}

// tiles are the key figures of one implementation; several stand in the comparison.
func tiles(doc result.Document) (ts []Tile) {
	if len(doc.Results) == 0 || len(result.Impls(doc.Results)) > 1 {
		return nil
	}
	rs := result.Of(doc.Results, doc.Results[0].Impl)
	rounds := ""
	if len(rs) > 1 {
		rounds = fmt.Sprintf("median of %d rounds", len(rs))
	}
	if v, _ := bench.MustFigure("throughput").Median(rs); v > 0 || rs[0].Holding == nil {
		note := rounds
		if doc.Config.Rate > 0 {
			note = fmt.Sprintf("of %s/s offered", units.Number(doc.Config.Rate))
		}
		ts = append(ts, Tile{"cycles a second", Cell{Text: units.Number(v), Title: plain(v)}, note})
	}
	name := headlineName(doc)
	if h := rs[0].Holding; h != nil {
		ts = append(ts, Tile{"locks held", count(h.Held), fmt.Sprintf("of %s, %s lost", units.Number(h.Wanted), units.Number(h.Lost))})
	}
	if p := poolOf(rs, bench.Headline); p != nil {
		for _, q := range []string{"50", "99"} {
			ts = append(ts, Tile{name + " p" + q, percentile(p.summary, q), ""})
		}
		ts = append(ts, Tile{name + " max", ns(p.summary.Max), units.Number(p.summary.Count) + " operations"})
	}
	if p := poolOf(rs, bench.Timing{Of: func(r *bench.Result) *bench.Summary { return r.Latency.Handover }}); p != nil {
		ts = append(ts, Tile{"hand-over p50", percentile(p.summary, "50"), "release to the waiter's return"})
	}
	if slices.ContainsFunc(doc.Results, waits) {
		v, _ := bench.MustFigure("jain").Median(rs)
		ts = append(ts, Tile{"fairness (Jain)", decimals("%.3f", v), "1: all workers alike"})
	}
	var t bench.Totals
	for _, r := range rs {
		t.Refused += r.Totals.Refused
		t.Timeouts += r.Totals.Timeouts
		t.Errors += r.Totals.Errors
		t.Dropped += r.Totals.Dropped
	}
	trouble := Tile{Name: "not acquired", Value: count(t.Refused + t.Timeouts + t.Errors + t.Dropped)}
	var kinds []string
	for _, k := range []struct {
		n    int64
		name string
	}{{t.Refused, "refused"}, {t.Timeouts, "timeouts"}, {t.Errors, "errors"}, {t.Dropped, "dropped"}} {
		if k.n > 0 {
			kinds = append(kinds, units.Number(k.n)+" "+k.name)
		}
	}
	trouble.Note = strings.Join(kinds, ", ")
	if t.Errors > 0 {
		trouble.Value.Class = Bad
	}
	return append(ts, trouble)
}
