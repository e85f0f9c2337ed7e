package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// header shows the lines above every table.
func (b *Blocks) header(doc result.Document) {
	c := doc.Config
	b.when(doc.Sweep == nil && !doc.Compares(), "%s", contention(c.Config))
	b.Line("%s  seed %d", strings.Join(workload(doc), "  "), c.Seed)
	if doc.Open() {
		b.Line("open loop: latency counts from the moment an operation was due")
	} else {
		b.Line("closed loop: a worker begins again when it is done, which hides waiting")
		b.hint("  --rate shows it")
	}
	b.when(c.Op != bench.AcquireRelease, "op %s", c.Op)
	b.when(len(c.Faults) > 0, "faults: %s", faultsText(c))
	if c.Target == result.Embedded {
		b.bad("EMBEDDED MASTERS: THE SPEED MEANS NOTHING.")
		b.hint("  install redis-server or valkey-server for real ones")
	}
	b.verdict(doc.Results)
}

// verdict says at the top of a page what stands in full below its charts. It claims nothing of runs that were not audited.
func (b *Blocks) verdict(results []*bench.Result) {
	var against []string
	count := func(what string, is func(*bench.Result) bool) {
		if n := len(result.Where(results, is)); n > 0 {
			against = append(against, fmt.Sprintf("%d %s", n, what))
		}
	}
	count("broke safety", func(r *bench.Result) bool { return r.Safety.Violated() })
	count("not valid", func(r *bench.Result) bool { return !r.Valid.OK })
	count("missed an objective", func(r *bench.Result) bool {
		return slices.ContainsFunc(r.SLO, func(s bench.SLO) bool { return !s.Pass })
	})
	others := result.Impls(result.Where(results, func(r *bench.Result) bool { return !result.Audited(r) }))
	switch {
	case len(against) > 0:
		b.line(Browser, true, "Of %d runs: %s. The findings below say why.", len(results), strings.Join(against, ", "))
	case len(results) > 0:
		valid := either(slices.ContainsFunc(results, result.Audited), "No two held one lock at the same time, and every run is valid", "Every run is valid")
		b.line(Browser, false, "%s%s.", valid, either(len(others) > 0, "; not audited: "+strings.Join(others, ", "), ""))
	}
}

// findings shows the verdicts on objectives, the warnings, each once, and the caveats of the
// implementations.
func (b *Blocks) findings(doc result.Document, traits map[string]Trait) {
	var found Blocks
	if doc.Sweep == nil { // a verdict over all settings would mislead
		for _, part := range doc.Parts() {
			found.objectives(part)
		}
	}
	found.warnings(doc)
	caveat := func(impl string) bool { return traits[impl].Caveat != "" }
	found.when(doc.Compares() && slices.ContainsFunc(doc.Config.Impls, caveat), "what they do not promise, and what they ran on:")
	for _, impl := range doc.Config.Impls {
		found.when(caveat(impl), "  %s: %s", impl, traits[impl].Caveat)
	}
	if len(found) > 0 {
		b.heading(Browser, "Findings")
		b.Line("")
	}
	*b = append(*b, found...)
	if doc.Config.Command == "run" {
		b.hint("%s", next)
	}
}

// objectives shows each implementation's verdicts: the median over the rounds, and in how many
// rounds an objective was met.
func (b *Blocks) objectives(doc result.Document) {
	t := Table{Texts: 2, Heads: make([]string, 4), Remarks: 1}
	for _, impl := range doc.Config.Impls {
		name := "SLO" + either(len(doc.Config.Impls) > 1, "  "+impl, "")
		for _, j := range judged(result.Of(doc.Results, impl)) {
			count := either(j.rounds > 1, fmt.Sprintf(" (met in %d of %d rounds)", j.passed, j.rounds), "")
			verdict := Cell{Text: "NOT JUDGED" + count + ": " + j.reason, Class: Bad}
			switch {
			case j.passed == j.rounds:
				verdict = Cell{Text: "PASS" + count, Class: Good}
			case j.missed > 0: // says more than a round that could not be judged
				verdict.Text = "MISSED" + count
			}
			t.Rows = append(t.Rows, append(cells(name, j.Text, units.Median(j.Unit, j.values)), verdict))
		}
	}
	b.Table(t)
}

// judgement is an objective in all rounds of an implementation.
type judgement struct {
	bench.SLO                            // of the first round
	values                 []units.Value // of the rounds that were judged
	rounds, passed, missed int
	reason                 string // why one was not judged
}

// judged returns the objectives of an implementation in their order.
func judged(results []*bench.Result) (all []judgement) {
	for _, r := range results {
		for i, s := range r.SLO {
			if i == len(all) {
				all = append(all, judgement{SLO: s})
			}
			j := &all[i]
			j.rounds++
			if s.Reason != "" {
				j.reason = s.Reason
				continue
			}
			j.values = append(j.values, units.Value{V: s.Value, AtLeast: s.AtLeast})
			if s.Pass {
				j.passed++
			} else {
				j.missed++
			}
		}
	}
	return all
}

// warnings shows the doubts about the results, by implementation and setting: each kind once, since only details differ.
func (b *Blocks) warnings(doc result.Document) {
	type doubt struct{ what, name, kind string }
	var order []doubt
	details := map[doubt][]string{}
	for _, r := range doc.Results {
		add := func(applies bool, what, kind, detail string) {
			if d := (doubt{what, result.Name(r.Impl, r.Setting), kind}); applies {
				if details[d] == nil {
					order = append(order, d)
				}
				details[d] = append(details[d], detail)
			}
		}
		s, t := r.Safety, r.Totals
		add(s.Overlaps > 0, "SAFETY VIOLATION", "two held one lock", fmt.Sprintf("%d times", s.Overlaps))
		add(s.FenceViolations > 0, "SAFETY VIOLATION", "a fence was not larger than the one before", fmt.Sprintf("%d times", s.FenceViolations))
		for _, sample := range r.ErrorSamples {
			add(true, "ERROR", strings.ReplaceAll(sample, "\n", "; "), "")
		}
		for _, reason := range r.Valid.But(result.ReasonEmbedded).Reasons { // the header has that one
			add(true, "NOT VALID", string(reason.Kind), reason.Detail)
		}
		add(t.Outlived > 0, "WARNING", "locks outlasted their validity before they were released", partOf(t.Outlived, t.Acquired))
		add(t.LateQuorum > 0, "WARNING", "quorums came too late to leave any validity", partOf(t.LateQuorum, t.Quorums()))
	}
	show := func(what string) (shown bool) {
		for _, d := range order {
			if d.what == what {
				n, text := len(details[d]), strings.TrimSuffix(fmt.Sprintf("%s %s: %s: %s", what, d.name, d.kind, details[d][0]), ": ")
				b.bad("%s%s", text, either(n > 1, fmt.Sprintf(" (in %d rounds)", n), ""))
				shown = true
			}
		}
		return shown
	}
	show("SAFETY VIOLATION")
	show("ERROR")
	if doc.Sweep != nil && doc.Sweep.Highest != nil { // there the rates have the reasons
		return
	}
	show("NOT VALID")
	if slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Valid.Has(bench.ReasonGenerator) }) {
		b.hint("  what helps: fewer other programs, a lower --rate, a closed loop (no --rate), or another machine for the load")
	}
	if show("WARNING") {
		b.hint("  what helps: a longer --ttl, or lockbench advise")
	}
}
