// Package units writes measured values for people.
package units

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"muxlock/bench"
	"muxlock/internal/stats"
)

// Duration writes ns with three digits and a unit.
func Duration(ns float64) string {
	units := []string{"ns", "µs", "ms", "s"}
	for ns >= 1000 && len(units) > 1 {
		ns, units = ns/1000, units[1:]
	}
	return Digits(ns) + units[0]
}

// Exact writes a time in one unit, with all its digits, as flags take it.
func Exact(d time.Duration) string {
	if d >= time.Second {
		return strconv.FormatFloat(float64(d)/1e9, 'f', -1, 64) + "s"
	}
	return d.String()
}

// Digits writes three significant digits, or all digits before the point.
func Digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.01:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1g", v)
}

// Number writes a count, grouped by thousands.
func Number[T int | int64 | float64](v T) string {
	s := fmt.Sprintf("%.0f", math.Round(float64(v)))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Share writes a share from 0 to 1 in percent.
func Share(v float64) string { return Digits(100*v) + "%" }

// Rate writes a number per second.
func Rate(v float64) string { return In(bench.UnitCount, v) + "/s" }

// In writes a figure in one of bench's units, with three digits. Counts are whole.
func In(unit string, v float64) string {
	switch {
	case unit == bench.UnitNs:
		return Duration(v)
	case unit == bench.UnitShare:
		return Share(v)
	case v >= 1000 || v == math.Trunc(v):
		return Number(v)
	case v < 1: // a fairness of 0.999 is not 1
		return fmt.Sprintf("%.3g", v)
	}
	return Digits(v)
}

// Percentile writes percentile p of a summary: with ~ if fewer than ten samples lie beyond
// it, with >= if it is a lower bound, and as - if there is none.
func Percentile(s *bench.Summary, p string) string {
	if s == nil || s.Count == 0 {
		return None
	}
	q, _ := strconv.ParseFloat(p, 64)
	text := AtLeast(Duration(float64(s.P[p])), s.CensoredAt(q))
	if s.Thin(q) {
		text = "~" + text
	}
	return text
}

// None stands for a value that was not measured.
const None = "-"

// A Value is a measured figure.
type Value struct {
	V       float64
	AtLeast bool // it is a lower bound
}

// Median writes the median of values in one of bench's units. It is a lower bound if it may be higher, as it is if the bounds rank
// above all others.
func Median(unit string, values []Value) string {
	if len(values) == 0 {
		return None
	}
	var lowest, highest []float64
	for _, v := range values {
		lowest = append(lowest, v.V)
		if v.AtLeast {
			v.V = math.Inf(1)
		}
		highest = append(highest, v.V)
	}
	v := stats.Median(lowest)
	return AtLeast(In(unit, v), stats.Median(highest) > v)
}

// AtLeast marks a lower bound.
func AtLeast(text string, bound bool) string {
	if bound {
		return ">=" + text
	}
	return text
}
