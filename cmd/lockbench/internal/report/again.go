package report

import (
	"strconv"
	"strings"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
)

// again is the command line that makes such a run, every choice written out.
// Passwords of masters are not known any more and have to be put in.
func again(c output.Config) string {
	words := []string{"lockbench " + c.Command}
	add := func(flag, value string) { words = append(words, "--"+flag+" "+quoted(value)) }
	span := func(flag string, d time.Duration) {
		if d != 0 {
			add(flag, d.String())
		}
	}
	switch c.Target {
	case "given":
		add("masters", strings.Join(c.Masters, ","))
	case "embedded":
		add("embedded", strconv.Itoa(len(c.Masters)))
	default:
		add("local", strconv.Itoa(len(c.Masters)))
	}
	add("impl", strings.Join(c.Impls, ","))
	add("workers", strconv.Itoa(c.Workers))
	if c.Procs > 1 {
		add("procs", strconv.Itoa(c.Procs))
	}
	if c.Dist != (bench.Dist{}) {
		add("keys", strconv.Itoa(c.Keys))
		add("dist", c.Dist.String())
	} else if c.Op == bench.Hold {
		add("keys", strconv.Itoa(c.Keys))
	}
	if c.Hold != (bench.Span{}) {
		add("hold", c.Hold.String())
	}
	if c.Think != (bench.Span{}) {
		add("think", c.Think.String())
	}
	if c.Rate > 0 {
		add("rate", strconv.FormatFloat(c.Rate, 'f', -1, 64))
		if c.Arrivals != "" {
			add("arrivals", c.Arrivals)
		}
	}
	if c.Op != bench.AcquireRelease {
		add("op", c.Op.String())
	}
	span("duration", c.Duration)
	add("warmup", c.Warmup.String())
	add("rounds", strconv.Itoa(c.Rounds))
	add("ttl", c.TTL.String())
	span("master-timeout", c.MasterTimeout)
	span("wait", c.Wait)
	for _, f := range c.Faults {
		add("fault", f)
	}
	add("seed", strconv.FormatUint(c.Seed, 10))
	return folded(words)
}

// folded joins words to lines of a shell that fit into a window.
func folded(words []string) string {
	const width = 76
	text, line := "", ""
	for _, w := range words {
		if line != "" && len(line)+len(w) > width {
			text, line = text+line+" \\\n", "   "
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return text + line
}

// quoted protects a word from a shell, when it has to be.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/@=+%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
