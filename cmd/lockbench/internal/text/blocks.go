package text

import (
	"math"
	"slices"
	"strings"
)

var (
	heights = []rune("▁▂▃▄▅▆▇█") // eighths of a cell from below
	widths  = []rune("▏▎▍▌▋▊▉█") // eighths of a cell from the left
)

// Spark is a curve of one cell for each value: from nothing to the highest.
func Spark(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	top := slices.Max(values)
	cells := make([]rune, len(values))
	for i, v := range values {
		step := 0
		if top > 0 {
			step = int(math.Round(v / top * float64(len(heights)-1)))
		}
		cells[i] = heights[min(max(step, 0), len(heights)-1)]
	}
	return string(cells)
}

// Bar is a share of so many cells, and dots for the rest.
func Bar(share float64, cells int) string {
	b := block(share, cells)
	return b + strings.Repeat("·", cells-len([]rune(b)))
}

// barCells is the width of a bar in a table.
const barCells = 20

// visibly is a bar that shows anything that is not nothing.
func visibly(share float64) string {
	return block(max(share, 1.0/float64(barCells*len(widths))), barCells)
}

// block is a share of so many cells, exact to an eighth of one.
func block(share float64, cells int) string {
	n := int(math.Round(min(max(share, 0), 1) * float64(cells*len(widths))))
	full, rest := n/len(widths), n%len(widths)
	b := strings.Repeat(string(widths[len(widths)-1]), full)
	if rest > 0 {
		b += string(widths[rest-1])
	}
	return b
}
