package output

import (
	"fmt"

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

// Workload is what was loaded, how and with what, in a few words each.
func Workload(c Config) []string {
	return []string{masters(c), workers(c), "keys " + keys(c), fmt.Sprintf("hold %s", c.Hold), fmt.Sprintf("ttl %s", c.TTL)}
}

// Keys is how many lock names and how they are drawn.
func Keys(c Config) string { return keys(c) }
