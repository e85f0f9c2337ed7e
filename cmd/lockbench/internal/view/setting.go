package view

import (
	"cmp"
	"fmt"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// workload writes the settings of the load, in a few words each. It leaves out the seed, and the
// flags that a sweep varied.
func workload(doc result.Document) []string {
	c := doc.Config
	masters := either(len(c.Masters) == 1, "1 master", fmt.Sprintf("%d masters", len(c.Masters))) + either(c.Groups > 1, fmt.Sprintf(" in %d groups", c.Groups), "")
	of := strings.TrimSuffix(string(c.Target)+", "+c.Server, ", ")
	parts := []string{fmt.Sprintf("%s%s (%s)", either(doc.Sweeps("masters") || doc.Sweeps("groups"), "up to ", ""), masters, of)}
	workers := either(c.Procs > 1, fmt.Sprintf("%d processes x ", c.Procs), "") + fmt.Sprintf("%d workers", c.Workers)
	if doc.Open() && !doc.Sweeps("rate") {
		workers = fmt.Sprintf("%s/s %s, at most %s", units.Number(c.Rate), cmp.Or(c.Arrivals, bench.ArrivalsPoisson), workers)
	}
	keys := either(c.Dist == (bench.Dist{}), "own", fmt.Sprintf("%d %s", c.Keys, c.Dist))
	if c.Op == bench.Hold {
		keys = fmt.Sprintf("%d to hold", c.Keys)
	}
	add := func(flag, format string, args ...any) {
		if !doc.Sweeps(flag) && (len(c.Loads) == 0 || flag == "ttl") { // each table names its load
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add("workers", "%s", workers)
	add("keys", "keys %s", keys)
	add("hold", "hold %s", c.Hold)
	add("ttl", "ttl %s", c.TTL)
	if c.Fencing {
		parts = append(parts, "fencing")
	}
	return parts
}

// contention says what contends with what.
func contention(c bench.Config) string {
	callers := either(c.Workers == 1, "one caller", fmt.Sprintf("%d callers", c.Workers))
	if c.Procs > 1 {
		callers = fmt.Sprintf("%d processes of %s", c.Procs, callers)
	}
	names := either(c.Keys == 1, "one name", fmt.Sprintf("%d names", c.Keys))
	switch several := c.Procs > 1 || c.Workers > 1; {
	case c.Op == bench.Hold:
		return callers + " keep " + names + " locked: nothing contends"
	case c.Dist == (bench.Dist{}) && several:
		return callers + ", each with a name of its own: nothing contends"
	case !several:
		return callers + ": nothing contends"
	case c.Procs > 1:
		return callers + " contend for " + names
	}
	return callers + " of one process contend for " + names
}

// surroundings shows the masters, the machine and the tool.
func (b *Blocks) surroundings(doc result.Document) {
	e, tool := doc.Env, doc.Tool
	b.heading(Browser, "Environment")
	t := Table{Texts: 2, Heads: make([]string, 2)}
	for _, fact := range [][2]string{
		{"masters", strings.TrimSuffix(fmt.Sprintf("%s: %s", doc.Config.Target, strings.Join(doc.Config.Masters, ", ")), ": ")},
		{"server", doc.Config.Server},
		{"machine", e.Host},
		{"virtual", e.Virtualization},
		{"processor", e.CPU},
		{"processors", either(e.CPUs > 0, fmt.Sprintf("%d, GOMAXPROCS %d", e.CPUs, e.GOMAXPROCS), "")},
		{"system", strings.Trim(strings.Join(strings.Fields(fmt.Sprintf("%s/%s %s", e.OS, e.Arch, e.Kernel)), " "), "/")},
		{"tool", strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", tool.Name, tool.Version, tool.Commit)), " ")},
		{"Go", tool.Go},
	} {
		if fact[1] != "" { // else it is not known
			t.Rows = append(t.Rows, cells(fact[:]...))
		}
	}
	b.Table(t)
}
