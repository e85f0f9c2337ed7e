package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// Terminal is a document for a terminal; caveats are what implementations do not promise.
func Terminal(doc result.Document, caveats map[string]string) (b Blocks) {
	switch doc.Kind() {
	case result.Validate:
		b.validation(doc.Validation)
	case result.Advise:
		b.advice(doc.Advice)
	case result.Compare:
		b.compare(doc, caveats)
	case result.Sweep, result.Capacity:
		b.sweep(doc, caveats)
	case result.Chaos:
		b.chaos(doc)
	default:
		b.run(doc, caveats)
	}
	return b
}

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
		b.Line("EMBEDDED MASTERS: THE SPEED MEANS NOTHING.")
		b.hint("  install redis-server or valkey-server for real ones")
	}
}

// caveats come in the order of the implementations.
func (b *Blocks) caveats(impls []string, caveats map[string]string) {
	for _, impl := range impls {
		if caveats[impl] != "" {
			b.Line("  %s: %s", impl, caveats[impl])
		}
	}
}

// warnings is what speaks against the results, each once.
func (b *Blocks) warnings(results []*bench.Result) {
	lagged, short := false, false
	var seen []string
	once := func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); !slices.Contains(seen, line) {
			seen = append(seen, line)
			b.Line("%s", line)
		}
	}
	for _, r := range results {
		if r.Safety.Overlaps > 0 {
			once("SAFETY VIOLATION %s: %d times two held one lock (round %d)", r.Impl, r.Safety.Overlaps, r.Round)
		}
	}
	for _, r := range results {
		for _, reason := range r.Valid.Reasons {
			if reason == result.EmbeddedReason {
				continue // the header says it
			}
			if first, rounds := sameReason(results, r.Impl, reason); first == reason {
				once("NOT VALID %s: %s%s", r.Impl, reason, rounds)
				lagged = lagged || strings.HasPrefix(reason, bench.ReasonGenerator)
			}
		}
		for _, sample := range r.ErrorSamples {
			once("ERROR %s: %s", r.Impl, strings.ReplaceAll(sample, "\n", "; "))
		}
		for _, line := range outlasted(results, r.Impl) {
			once("%s", line)
			short = true
		}
	}
	if lagged {
		b.hint("  what helps: %s", generatorRemedy)
	}
	if short {
		b.hint("  what helps: a longer --ttl, or lockbench advise")
	}
}

// sameReason is the first of an implementation's reasons that begins as this one does,
// and in how many rounds there is one, where it is more than one: their figures differ.
func sameReason(results []*bench.Result, impl, reason string) (first, rounds string) {
	kind, _, _ := strings.Cut(reason, ":")
	n := 0
	for _, r := range results {
		i := slices.IndexFunc(r.Valid.Reasons, func(s string) bool { return strings.HasPrefix(s, kind) })
		if r.Impl != impl || i < 0 {
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

// generatorRemedy is what helps where the generator could not keep up.
const generatorRemedy = "fewer other programs, a lower --rate, a closed loop (no --rate), or another machine for the load"

// outlasted warns of an implementation's leases that were too short, over all its results.
func outlasted(results []*bench.Result, impl string) (lines []string) {
	var t bench.Totals
	for _, r := range results {
		if r.Impl == impl {
			t.Acquired += r.Totals.Acquired
			t.LostValidity += r.Totals.LostValidity
			t.LateQuorum += r.Totals.LateQuorum
		}
	}
	warn := func(n, all int64, one, many string) {
		if n > 0 {
			what := map[bool]string{true: one, false: many}[n == 1]
			lines = append(lines, fmt.Sprintf("WARNING %s: %s %s (%s)", impl, units.Number(n), what, units.Share(float64(n)/float64(max(all, 1)))))
		}
	}
	warn(t.LostValidity-t.LateQuorum, t.Acquired, "lock outlasted its validity before it was released", "locks outlasted their validity before they were released")
	warn(t.LateQuorum, t.Quorums(), "quorum came too late to leave any validity", "quorums came too late to leave any validity")
	return lines
}
