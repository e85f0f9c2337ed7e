package report

import (
	"fmt"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
)

// cost is the counts of every run, and what it took on the client's side.
func cost(doc output.Document) Section {
	s := Section{ID: "counts", Title: "Counts and cost"}
	t := Table{Columns: columns("run", "offered", "acquired", "refused", "timeouts", "errors", "late", "dropped", "overlaps")}
	c := Table{Columns: columns("run", "cpu/cycle", "of it the generator", "allocs/cycle", "gc pause p99", "scheduling p99", "stall p99", "cpu of the machine")}
	for _, r := range doc.Results {
		name := runName(doc, r)
		n := r.Totals
		row := []Cell{Text(name), Count(n.Offered), Count(n.Acquired), Count(n.Refused), Count(n.Timeouts), Count(n.Errors), Count(n.Late), Count(n.Dropped), Count(r.Safety.Overlaps)}
		if n.Errors > 0 {
			row[5].Class = "bad"
		}
		if r.Safety.Overlaps > 0 {
			row[8].Class = "bad"
		}
		t.Rows = append(t.Rows, row)
		l := r.Client
		own := Cell{Text: fmt.Sprintf("%s (%s)", output.Duration(l.ToolCPUNsPerOp), Share(l.ToolCPUShare).Text), Title: plain(l.ToolCPUNsPerOp) + " ns"}
		c.Rows = append(c.Rows, []Cell{
			Text(name), known(l.CPUNsPerOp, Ns(l.CPUNsPerOp)), known(l.ToolCPUNsPerOp, own), known(l.CPUNsPerOp, Figure(l.AllocsPerOp)),
			Ns(float64(l.GCP99Ns)), Ns(float64(l.SchedP99Ns)), at(l.Stall, "99"), known(l.CPUShare, Share(l.CPUShare)),
		})
	}
	s.Tables = []Table{t, c}
	return s
}

// objectives is each SLO and how the runs stood to it.
func objectives(doc output.Document) Section {
	s := Section{ID: "slo", Title: "Objectives"}
	t := Table{Columns: []Column{{"objective", true}, {"run", true}, {"measured", false}, {"limit", false}, {"verdict", true}}}
	for _, r := range doc.Results {
		for _, o := range r.SLO {
			verdict := Cell{Text: "pass", Class: "good"}
			value := inUnit(o.Value, o.Unit)
			if !o.Pass {
				verdict = Cell{Text: "MISSED", Class: "bad"}
			}
			if o.Reason != "" {
				verdict.Text, value = "not judged: "+o.Reason, None()
			}
			t.Rows = append(t.Rows, []Cell{Text(o.Text), Text(runName(doc, r)), value, inUnit(o.Limit, o.Unit), verdict})
		}
	}
	s.Tables = []Table{t}
	return s
}

func inUnit(v float64, unit string) Cell {
	switch unit {
	case bench.UnitNs:
		return Ns(v)
	case bench.UnitShare:
		return Share(v)
	}
	return Figure(v)
}

// notes is the errors seen, and what the implementations do not promise.
func notes(doc output.Document, caveats map[string]string) Section {
	s := Section{ID: "notes", Title: "Warnings and caveats"}
	var errors, promises []string
	for _, r := range doc.Results {
		for _, sample := range r.ErrorSamples {
			errors = append(errors, r.Impl, strings.ReplaceAll(sample, "\n", "; "))
		}
	}
	for _, impl := range impls(doc.Results) {
		promises = append(promises, impl, caveats[impl])
	}
	seen, not := facts(errors...), facts(promises...)
	seen.Caption, not.Caption = "Errors seen (the first few that differ)", "What they do not promise"
	s.Tables = []Table{seen, not}
	return s
}

// setting is the workload, and how to do it again.
func setting(doc output.Document, again string) Section {
	c := doc.Config
	if len(doc.Validation) > 0 { // each check has its own
		return Section{ID: "setting", Title: "Again", Code: again}
	}
	loop := "closed: a worker begins again when it is done"
	if c.Rate > 0 {
		arrivals := c.Arrivals
		if arrivals == "" {
			arrivals = bench.Poisson
		}
		loop = fmt.Sprintf("open: %s arrivals a second, %s", output.Number(c.Rate), arrivals)
	}
	processes := ""
	if c.Procs > 1 {
		processes = fmt.Sprint(c.Procs)
	}
	t := facts(
		"loop", loop,
		"workers", output.Number(float64(c.Workers)),
		"processes", processes,
		"keys", output.Keys(c),
		"operation", c.Op.String(),
		"hold", c.Hold.String(), "think", c.Think.String(),
		"lease (TTL)", c.TTL.String(),
		"one acquire waits", orUntil(c.Wait.String(), "until the run ends"),
		"master timeout", orUntil(c.MasterTimeout.String(), "the engine's default"),
		"duration", c.Duration.String(), "warm-up", c.Warmup.String(),
		"rounds", fmt.Sprint(c.Rounds),
		"faults", strings.Join(c.Faults, ", "),
		"seed", fmt.Sprint(c.Seed),
	)
	note := "The same seed makes the same arrivals, names and holds."
	if again != "" {
		note += " The command below does it again."
	}
	return Section{ID: "setting", Title: "Configuration", Tables: []Table{t}, Code: again, Note: note}
}

// orUntil replaces no time at all.
func orUntil(d, text string) string {
	if d == "0s" {
		return text
	}
	return d
}

// surroundings is the masters, the machine and the tool.
func surroundings(doc output.Document) Section {
	e, t := doc.Env, doc.Tool
	return Section{ID: "environment", Title: "Environment", Tables: []Table{facts(
		"masters", strings.TrimSuffix(fmt.Sprintf("%s: %s", doc.Config.Target, strings.Join(doc.Config.Masters, ", ")), ": "),
		"server", doc.Config.Server,
		"machine", e.Host,
		"virtual", e.Virtualization,
		"processor", e.CPU,
		"processors", fmt.Sprintf("%d, GOMAXPROCS %d", e.CPUs, e.GOMAXPROCS),
		"of which it may use", unless0(e.CPULimit, output.Digits(e.CPULimit)),
		"memory", unless0(float64(e.MemoryBytes), output.Digits(float64(e.MemoryBytes)/(1<<30))+" GiB"),
		"clock source", e.Clocksource,
		"frequency governor", e.Governor,
		"system", strings.Join(strings.Fields(fmt.Sprintf("%s/%s %s", e.OS, e.Arch, e.Kernel)), " "),
		"tool", strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", t.Name, t.Version, t.Commit)), " "),
		"Go", t.Go,
	)}}
}

// unless0 is text where the system told v.
func unless0(v float64, text string) string {
	if v == 0 {
		return ""
	}
	return text
}
