// Package units writes measured values for people, everywhere alike.
package units

import "fmt"

// Duration is ns with three digits and a unit.
func Duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return Digits(ns/1e9) + "s"
	case ns >= 1e6:
		return Digits(ns/1e6) + "ms"
	case ns >= 1e3:
		return Digits(ns/1e3) + "us"
	}
	return Digits(ns) + "ns"
}

// Digits is three significant digits, or all that stand before the point.
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
