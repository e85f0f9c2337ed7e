package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// header shows the lines above every table.
func (b *Blocks) header(doc result.Document) {
	c := doc.Config
	if doc.Kind() == result.KindRun {
		b.Line("%s", contention(c.Config))
	}
	b.Line("%s  seed %d", strings.Join(workload(doc), "  "), c.Seed)
	if doc.Open() {
		b.Line("open loop: latency counts from the moment an operation was due")
	} else {
		b.Line("closed loop: a worker begins again when it is done, which hides waiting")
		b.hint("  --rate shows it")
	}
	if c.Op != bench.AcquireRelease {
		b.Line("op %s", c.Op)
	}
	if len(c.Faults) > 0 {
		b.Line("faults: %s", strings.Join(c.Faults, ", "))
	}
	if c.Target == masters.Embedded {
		b.bad("EMBEDDED MASTERS: THE SPEED MEANS NOTHING.")
		b.hint("  install redis-server or valkey-server for real ones")
	}
}

// findings shows the verdicts on objectives, the warnings, each once, and the caveats of the
// implementations.
func (b *Blocks) findings(doc result.Document, traits map[string]Trait) {
	b.Line("")
	if doc.Sweep == nil { // a verdict over all settings would mislead
		for _, part := range doc.Parts() {
			b.objectives(part)
		}
	}
	b.warnings(doc)
	if len(doc.Results) > 0 && !slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Safety.Violated() || !r.Valid.OK }) {
		b.browser(Blocks{{Line: allGood(doc.Results)}})
	}
	if doc.Kind() == result.KindCompare && slices.ContainsFunc(doc.Config.Impls, func(impl string) bool { return traits[impl].Caveat != "" }) {
		b.Line("what they do not promise, and what they ran on:")
	}
	for _, impl := range doc.Config.Impls {
		if caveat := traits[impl].Caveat; caveat != "" {
			b.Line("  %s: %s", impl, caveat)
		}
	}
	if doc.Config.Command == "run" {
		b.hint("%s", next)
	}
}

// allGood writes that results have no violation and are valid. It claims nothing of runs that were
// not audited.
func allGood(results []*bench.Result) string {
	audited := slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return !result.Audited(r) })
	others := result.Impls(slices.DeleteFunc(slices.Clone(results), result.Audited))
	text := "Every run is valid"
	if len(audited) > 0 {
		text = "No two held one lock at the same time, and every run is valid"
	}
	if len(others) > 0 {
		text += "; not audited: " + strings.Join(others, ", ")
	}
	return text + "."
}

// objectives shows each implementation's verdicts: the median over the rounds, and in how many
// rounds an objective was met.
func (b *Blocks) objectives(doc result.Document) {
	t := Table{Texts: 2, Heads: make([]string, 4), Remarks: 1}
	for _, impl := range doc.Config.Impls {
		name := "SLO"
		if len(doc.Config.Impls) > 1 {
			name += "  " + impl
		}
		for _, rounds := range judged(doc.Results, impl) {
			value, verdict := stood(rounds)
			t.Rows = append(t.Rows, append(cells(name, rounds[0].Text, value), verdict))
		}
	}
	b.Table(t)
}

// judged returns the objectives of an implementation in their order, each in all rounds.
func judged(results []*bench.Result, impl string) (all [][]bench.SLO) {
	for _, r := range results {
		for i, s := range r.SLO {
			switch {
			case r.Impl != impl:
			case i == len(all):
				all = append(all, []bench.SLO{s})
			default:
				all[i] = append(all[i], s)
			}
		}
	}
	return all
}

// stood returns the measured value and the verdict. A missed round says more than a round that
// could not be judged.
func stood(rounds []bench.SLO) (value string, verdict Cell) {
	value, passed, missed, reason := counted(rounds)
	count := ""
	if len(rounds) > 1 {
		count = fmt.Sprintf(" (met in %d of %d rounds)", passed, len(rounds))
	}
	switch {
	case passed == len(rounds):
		return value, Cell{Text: "PASS" + count, Class: Good}
	case missed > 0:
		return value, Cell{Text: "MISSED" + count, Class: Bad}
	}
	return value, Cell{Text: "NOT JUDGED" + count + ": " + reason, Class: Bad}
}

// counted returns the median of the measured values, how many rounds passed or missed, and why one was
// not judged.
func counted(rounds []bench.SLO) (value string, passed, missed int, reason string) {
	var values []float64
	var bounds []bool
	for _, s := range rounds {
		switch {
		case s.Reason != "":
			reason = s.Reason
			continue
		case s.Pass:
			passed++
		default:
			missed++
		}
		values, bounds = append(values, s.Value), append(bounds, s.AtLeast)
	}
	return median(rounds[0].Unit, values, bounds), passed, missed, reason
}

// Judged writes an objective and its measured value.
func Judged(s bench.SLO) string {
	if s.Reason != "" {
		return s.Text + ": " + s.Reason
	}
	return s.Text + ": " + units.AtLeast(units.In(s.Unit, s.Value), s.AtLeast)
}

// warnings shows the doubts about the results, by implementation and setting.
func (b *Blocks) warnings(doc result.Document) {
	groups := map[string][]*bench.Result{}
	var names []string
	for _, r := range doc.Results {
		name := result.Name(r.Impl, r.Setting)
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], r)
		if r.Safety.Overlaps > 0 {
			b.bad("SAFETY VIOLATION %s: %d times two held one lock (round %d)", name, r.Safety.Overlaps, r.Round)
		}
		if r.Safety.FenceViolations > 0 {
			b.bad("SAFETY VIOLATION %s: %d times a fence was not larger than the one before (round %d)", name, r.Safety.FenceViolations, r.Round)
		}
	}
	lagged, short := false, false
	for _, name := range names {
		samples := map[string]bool{}
		for _, r := range groups[name] {
			for _, sample := range r.ErrorSamples {
				if !samples[sample] {
					b.bad("ERROR %s: %s", name, strings.ReplaceAll(sample, "\n", "; "))
				}
				samples[sample] = true
			}
		}
		if doc.Sweep == nil || doc.Sweep.Highest == nil { // there the rates have the reasons
			lagged = b.reasons(name, groups[name]) || lagged
			short = b.outlasted(name, groups[name]) || short
		}
	}
	if lagged {
		b.hint("  what helps: fewer other programs, a lower --rate, a closed loop (no --rate), or another machine for the load")
	}
	if short {
		b.hint("  what helps: a longer --ttl, or lockbench advise")
	}
}

// reasons shows why runs are not valid, each kind of reason once, since only figures differ. It
// reports whether the generator lagged.
func (b *Blocks) reasons(name string, results []*bench.Result) (lagged bool) {
	var kinds []bench.ReasonKind
	reasons := map[bench.ReasonKind][]bench.Reason{}
	for _, r := range results {
		for _, reason := range r.Valid.But(result.ReasonEmbedded).Reasons { // the header has that one
			if reasons[reason.Kind] == nil {
				kinds = append(kinds, reason.Kind)
			}
			reasons[reason.Kind] = append(reasons[reason.Kind], reason)
		}
	}
	for _, kind := range kinds {
		text := fmt.Sprintf("NOT VALID %s: %s", name, reasons[kind][0])
		if n := len(reasons[kind]); n > 1 {
			text += fmt.Sprintf(" (in %d rounds)", n)
		}
		b.bad("%s", text)
	}
	return reasons[bench.ReasonGenerator] != nil
}

// outlasted warns of leases that were too short. It reports whether there were any.
func (b *Blocks) outlasted(name string, results []*bench.Result) bool {
	var t bench.Totals
	for _, r := range results {
		t.Acquired += r.Totals.Acquired
		t.Names += r.Totals.Names
		t.Outlived += r.Totals.Outlived
		t.LateQuorum += r.Totals.LateQuorum
	}
	if t.Outlived > 0 {
		b.bad("WARNING %s: locks outlasted their validity before they were released: %s", name, partOf(t.Outlived, t.Acquired))
	}
	if t.LateQuorum > 0 {
		b.bad("WARNING %s: quorums came too late to leave any validity: %s", name, partOf(t.LateQuorum, t.Quorums()))
	}
	return t.Outlived+t.LateQuorum > 0
}
