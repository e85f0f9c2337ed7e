package report

import (
	"fmt"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
)

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

func title(doc output.Document) string {
	names := impls(doc.Results)
	if len(names) == 0 {
		names = doc.Config.Impls
	}
	command := doc.Config.Command
	if command == "" {
		command = "run"
	}
	if doc.Advice != nil { // also of a result of another command
		command = "advise"
	}
	if len(names) == 0 {
		return "lockbench " + command
	}
	return "lockbench " + command + ": " + strings.Join(names, ", ")
}

func subtitle(doc output.Document) string {
	if len(doc.Validation) > 0 {
		return "predictions beside measurements · " + doc.Config.Duration.String() + " a setting"
	}
	if doc.Advice != nil {
		return strings.Join(askedFor(doc), " · ")
	}
	parts := output.Workload(doc)
	if n := doc.Config.Rounds; n > 1 {
		parts = append(parts, fmt.Sprintf("%d rounds of %s", n, doc.Config.Duration))
	} else {
		parts = append(parts, doc.Config.Duration.String())
	}
	return strings.Join(parts, " · ")
}

func verdicts(doc output.Document) (vs []Verdict) {
	if len(doc.Validation) > 0 {
		return validationVerdicts(doc.Validation)
	}
	if len(doc.Results) == 0 {
		return []Verdict{{"bad", "Nothing was measured", nil}}
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
			reasons = append(reasons, prefix(doc, r)+reason+output.Remedy(reason))
		}
		if n := r.Safety.Overlaps; n > 0 {
			unsafe = append(unsafe, fmt.Sprintf("%s%s overlaps: a lock was acquired while another validly held it", prefix(doc, r), output.Number(float64(n))))
		}
		if n := r.Safety.FenceViolations; n > 0 {
			unsafe = append(unsafe, fmt.Sprintf("%s%s fencing tokens did not grow", prefix(doc, r), output.Number(float64(n))))
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
		vs = append(vs, Verdict{"bad", "Safety violation", few(unsafe)})
	} else {
		vs = append(vs, Verdict{"good", "No two holders at once", nil})
	}
	if valid == len(doc.Results) {
		vs = append(vs, Verdict{"good", "Valid", nil})
	} else {
		head := "Not valid"
		if len(doc.Results) > 1 {
			head = fmt.Sprintf("%d of %d runs not valid", len(doc.Results)-valid, len(doc.Results))
		}
		vs = append(vs, Verdict{"bad", head, few(unique(reasons))})
	}
	switch {
	case missed > 0:
		vs = append(vs, Verdict{"bad", fmt.Sprintf("%d of %d objectives missed", missed, met+missed), few(slo)})
	case met == 1:
		vs = append(vs, Verdict{"good", "The objective is met", nil})
	case met > 0:
		vs = append(vs, Verdict{"good", fmt.Sprintf("All %d objectives met", met), nil})
	}
	return vs
}

// prefix names the run that a line is about, where there are several.
func prefix(doc output.Document, r *bench.Result) string {
	if len(doc.Results) == 1 {
		return ""
	}
	return runName(doc, r) + ": "
}

func runName(doc output.Document, r *bench.Result) string {
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
func tiles(doc output.Document) (ts []Tile) {
	if len(doc.Results) == 0 || len(impls(doc.Results)) > 1 {
		return nil
	}
	rs := of(doc.Results, doc.Results[0].Impl)
	med := func(value func(*bench.Result) float64) float64 { return median(rs, value) }
	rounds := ""
	if len(rs) > 1 {
		rounds = fmt.Sprintf("median of %d rounds", len(rs))
	}
	if v := med(func(r *bench.Result) float64 { return r.ThroughputPerS }); v > 0 || rs[0].Holding == nil {
		note := rounds
		if doc.Config.Rate > 0 {
			note = fmt.Sprintf("of %s/s offered", output.Number(doc.Config.Rate))
		}
		ts = append(ts, Tile{"cycles a second", Cell{Text: output.Number(v), Title: plain(v)}, note})
	}
	name := "cycle"
	if doc.Config.Rate > 0 {
		name = "response"
	}
	if h := rs[0].Holding; h != nil {
		ts = append(ts, Tile{"locks held", Count(h.Held), fmt.Sprintf("of %s, %s lost", output.Number(float64(h.Wanted)), output.Number(float64(h.Lost)))})
	}
	if p := poolOf(rs, (*bench.Result).Headline); p != nil {
		for _, q := range []string{"50", "99"} {
			ts = append(ts, Tile{name + " p" + q, at(p.summary, q), ""})
		}
		ts = append(ts, Tile{name + " max", Ns(float64(p.summary.Max)), output.Number(float64(p.summary.Count)) + " operations"})
	}
	if p := poolOf(rs, func(r *bench.Result) *bench.Summary { return r.Latency.Handover }); p != nil {
		ts = append(ts, Tile{"hand-over p50", at(p.summary, "50"), "release to the waiter's return"})
	}
	if shared(doc) {
		v := med(func(r *bench.Result) float64 { return r.Fairness.Jain })
		ts = append(ts, Tile{"fairness (Jain)", Cell{Text: fmt.Sprintf("%.3f", v), Title: plain(v)}, "1: all workers alike"})
	}
	var t bench.Totals
	for _, r := range rs {
		t.Refused += r.Totals.Refused
		t.Timeouts += r.Totals.Timeouts
		t.Errors += r.Totals.Errors
		t.Dropped += r.Totals.Dropped
	}
	trouble := Tile{"not acquired", Count(t.Refused + t.Timeouts + t.Errors + t.Dropped), ""}
	var kinds []string
	for _, k := range []struct {
		n    int64
		name string
	}{{t.Refused, "refused"}, {t.Timeouts, "timeouts"}, {t.Errors, "errors"}, {t.Dropped, "dropped"}} {
		if k.n > 0 {
			kinds = append(kinds, output.Number(float64(k.n))+" "+k.name)
		}
	}
	trouble.Note = strings.Join(kinds, ", ")
	if t.Errors > 0 {
		trouble.Value.Class = "bad"
	}
	return append(ts, trouble)
}

// shared tells whether workers waited for each other.
func shared(doc output.Document) bool {
	for _, r := range doc.Results {
		if r.Latency.Handover != nil {
			return true
		}
	}
	return false
}
