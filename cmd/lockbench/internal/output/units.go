package output

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/bench"
)

// Duration is ns with three digits and a unit.
func Duration(ns float64) string { return duration(ns) }

// Number is a count, grouped by thousands.
func Number(v float64) string { return number(v) }

// Digits is three significant digits, or all that stand before the point.
func Digits(v float64) string { return digits(v) }

// Percentile is one of a summary, with a ~ when fewer than ten samples lie beyond it,
// and - when there is none.
func Percentile(s *bench.Summary, p string) string { return percentile(s, p) }

// Percentiles are those that a Summary has, rising.
var Percentiles = percentiles

// Workload is what was run, in a few words each, but for the seed. What a sweep gives
// a value of its own in each setting is left out.
func Workload(doc Document) []string {
	c := doc.Config
	parts := []string{masters(c)}
	if doc.sweeps("masters") {
		parts[0] = "up to " + parts[0]
	}
	if doc.sweeps("rate") {
		c.Rate = 0
	}
	for _, p := range []struct{ flag, text string }{
		{"workers", workers(c)}, {"keys", "keys " + keys(c)}, {"hold", fmt.Sprintf("hold %s", c.Hold)}, {"ttl", fmt.Sprintf("ttl %s", c.TTL)},
	} {
		if !doc.sweeps(p.flag) {
			parts = append(parts, p.text)
		}
	}
	return parts
}

// sweeps tells whether a flag has a value of its own in each setting.
func (d Document) sweeps(flag string) bool {
	return d.Sweep != nil && slices.ContainsFunc(d.Sweep.Params, func(p bench.SweepParam) bool { return p.Name == flag })
}

// Keys is how many lock names and how they are drawn.
func Keys(c Config) string { return keys(c) }

// Hurt is a line for each fault of one implementation's runs: when it was in force, and
// what the users of the lock saw meanwhile and otherwise.
func Hurt(results []*bench.Result) []string {
	var b strings.Builder
	hurt(&b, "", results)
	return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' })
}
