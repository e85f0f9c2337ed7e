package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// header is the lines above every table.
func (b *Blocks) header(doc result.Document) {
	c := doc.Config
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
	if c.Target == "embedded" {
		b.bad("EMBEDDED MASTERS: THE SPEED MEANS NOTHING.")
		b.hint("  install redis-server or valkey-server for real ones")
	}
}

// findings is how the results stood to what was asked, what speaks against them, each once,
// and what the implementations do not promise.
func (b *Blocks) findings(doc result.Document, caveats map[string]string) {
	b.Line("")
	if doc.Sweep == nil { // what puts all settings together would mislead
		b.objectives(doc)
	}
	b.warnings(doc)
	if len(doc.Results) > 0 && !slices.ContainsFunc(doc.Results, func(r *bench.Result) bool { return r.Safety.Violated() || !r.Valid.OK }) {
		b.browser(Blocks{{Line: "No two held one lock at the same time, and every run is valid."}})
	}
	if doc.Kind() == result.KindCompare && len(caveats) > 0 {
		b.Line("what they do not promise, and what they ran on:")
	}
	for _, impl := range doc.Config.Impls {
		if caveats[impl] != "" {
			b.Line("  %s: %s", impl, caveats[impl])
		}
	}
	if doc.Config.Command == "run" {
		b.hint("%s", next)
	}
}

func (b *Blocks) warnings(doc result.Document) {
	var seen []string
	once := func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); !slices.Contains(seen, line) {
			seen = append(seen, line)
			b.bad("%s", line)
		}
	}
	for _, r := range doc.Results {
		name := result.Name(r.Impl, r.Setting)
		if r.Safety.Overlaps > 0 {
			once("SAFETY VIOLATION %s: %d times two held one lock (round %d)", name, r.Safety.Overlaps, r.Round)
		}
		if r.Safety.FenceViolations > 0 {
			once("SAFETY VIOLATION %s: %d times a fence was not larger than the one before (round %d)", name, r.Safety.FenceViolations, r.Round)
		}
	}
	lagged, short := false, false
	for _, r := range doc.Results {
		name := result.Name(r.Impl, r.Setting)
		for _, sample := range r.ErrorSamples {
			once("ERROR %s: %s", name, strings.ReplaceAll(sample, "\n", "; "))
		}
		if doc.Kind() == result.KindCapacity {
			continue // the steps say the rest
		}
		for _, reason := range r.Valid.Reasons {
			if reason == result.EmbeddedReason {
				continue // the header says it
			}
			if first, rounds := sameReason(doc.Results, name, reason); first == reason {
				once("NOT VALID %s: %s%s", name, reason, rounds)
				lagged = lagged || strings.HasPrefix(reason, bench.ReasonGenerator)
			}
		}
		for _, line := range outlasted(doc.Results, name) {
			once("%s", line)
			short = true
		}
	}
	if lagged {
		b.hint("  what helps: fewer other programs, a lower --rate, a closed loop (no --rate), or another machine for the load")
	}
	if short {
		b.hint("  what helps: a longer --ttl, or lockbench advise")
	}
}

// sameReason is the first of the reasons under a name that begins as this one does, and in how
// many rounds there is one, where it is more than one: their figures differ.
func sameReason(results []*bench.Result, name, reason string) (first, rounds string) {
	kind, _, _ := strings.Cut(reason, ":")
	n := 0
	for _, r := range results {
		i := slices.IndexFunc(r.Valid.Reasons, func(s string) bool { return strings.HasPrefix(s, kind) })
		if result.Name(r.Impl, r.Setting) != name || i < 0 {
			continue
		}
		if n++; n == 1 {
			first = r.Valid.Reasons[i]
		}
	}
	if n > 1 {
		rounds = fmt.Sprintf(" (in %d rounds)", n)
	}
	return first, rounds
}

// outlasted warns of leases that were too short, over all results under a name.
func outlasted(results []*bench.Result, name string) (lines []string) {
	var t bench.Totals
	for _, r := range results {
		if result.Name(r.Impl, r.Setting) == name {
			t.Acquired += r.Totals.Acquired
			t.Outlived += r.Totals.Outlived
			t.LateQuorum += r.Totals.LateQuorum
		}
	}
	warn := func(n, all int64, one, many string) {
		if n > 0 {
			what := map[bool]string{true: one, false: many}[n == 1]
			lines = append(lines, fmt.Sprintf("WARNING %s: %s %s (%s)", name, units.Number(n), what, units.Share(float64(n)/float64(max(all, 1)))))
		}
	}
	warn(t.Outlived, t.Acquired, "lock outlasted its validity before it was released", "locks outlasted their validity before they were released")
	warn(t.LateQuorum, t.Quorums(), "quorum came too late to leave any validity", "quorums came too late to leave any validity")
	return lines
}
