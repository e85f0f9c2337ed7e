package output

import (
	"fmt"
	"math"
	"strconv"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/units"
)

// Duration is ns with three digits and a unit.
func Duration(ns float64) string { return units.Duration(ns) }

// Digits is three significant digits, or all that stand before the point.
func Digits(v float64) string { return units.Digits(v) }

// Number is a count, grouped by thousands.
func Number(v float64) string {
	s := fmt.Sprintf("%.0f", math.Round(v))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percentiles are those that a Summary has, rising.
var Percentiles = []string{"50", "90", "99", "99.9", "99.99"}

// Percentile is one of a summary, with a ~ when fewer than ten samples lie beyond it,
// and - when there is none.
func Percentile(s *bench.Summary, p string) string {
	if s == nil || s.Count == 0 {
		return "-"
	}
	text := Duration(float64(s.P[p]))
	if q, _ := strconv.ParseFloat(p, 64); s.Thin(q) {
		text = "~" + text
	}
	return text
}
