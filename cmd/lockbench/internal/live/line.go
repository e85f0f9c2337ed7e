package live

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"muxlock/cmd/lockbench/internal/units"
)

// fit puts parts into a line, two spaces apart. One that has no room is left out,
// but the first, which is cut. Each character is one cell wide.
func fit(width int, parts ...string) string {
	first := []rune(parts[0])
	line := string(first[:min(len(first), max(width, 0))])
	for _, p := range parts[1:] {
		if utf8.RuneCountInString(line)+2+utf8.RuneCountInString(p) <= width {
			line += "  " + p
		}
	}
	return line
}

// strip is a cell for each master: its number and round trip, or a letter where
// that is too wide.
func strip(width int, ns []int64) string {
	cells, letters := []string{"masters"}, "masters "
	normal := typical(ns)
	for i, n := range ns {
		text, letter := fmt.Sprintf("%d %s", i+1, units.Duration(float64(n))), "."
		switch {
		case n < 0:
			text, letter = fmt.Sprintf("%d down", i+1), "D"
		case n > slowFactor*normal:
			text, letter = text+" slow", "s"
		}
		cells, letters = append(cells, text), letters+letter
	}
	if whole := strings.Join(cells, "  "); utf8.RuneCountInString(whole) <= width {
		return whole
	}
	return fit(width, letters)
}

// slowFactor is how many times the usual round trip is slow.
const slowFactor = 3

// typical is the lower median of those that answer.
func typical(ns []int64) int64 {
	up := slices.DeleteFunc(slices.Clone(ns), func(n int64) bool { return n < 0 })
	if len(up) == 0 {
		return 0
	}
	slices.Sort(up)
	return up[(len(up)-1)/2]
}
