package live

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"muxlock/cmd/lockbench/internal/units"
)

// textLine is one row of a terminal. Its characters are ASCII, blocks and boxes, each
// one cell wide.
type textLine []part

// part is a text in a colour.
type part struct {
	text   string
	colour colour
}

// colour is a number of the SGR sequence; 0 is none.
type colour int

const (
	bold   colour = 1
	red    colour = 31
	green  colour = 32
	yellow colour = 33
)

func (l textLine) width() (n int) {
	for _, p := range l {
		n += utf8.RuneCountInString(p.text)
	}
	return n
}

func (l textLine) write(b *bytes.Buffer, colours bool) {
	for _, p := range l {
		if colours && p.colour != 0 {
			fmt.Fprintf(b, "\x1b[%dm%s\x1b[m", p.colour, p.text)
		} else {
			b.WriteString(p.text)
		}
	}
}

// fit puts parts into a line, two spaces apart. One that has no room is left out,
// but the first, which is cut.
func fit(width int, parts ...part) textLine {
	var l textLine
	used := 0
	for _, p := range parts {
		n := utf8.RuneCountInString(p.text)
		switch {
		case l == nil:
			p.text = string([]rune(p.text)[:min(n, max(width, 0))])
			l, used = textLine{p}, min(n, width)
		case used+2+n <= width:
			l = append(l, part{text: "  "}, p)
			used += 2 + n
		}
	}
	return l
}

// strip is a cell for each master: its number and round trip, or a letter where
// that is too wide.
func strip(width int, ns []int64) textLine {
	cells, letters := []part{{text: "masters"}}, fit(width, part{text: "masters "})
	normal := typical(ns)
	for i, n := range ns {
		text, letter, c := fmt.Sprintf("%d %s", i+1, units.Duration(float64(n))), ".", green
		switch {
		case n < 0:
			text, letter, c = fmt.Sprintf("%d down", i+1), "D", red
		case n > slowFactor*normal:
			text, letter, c = text+" slow", "s", yellow
		}
		cells, letters = append(cells, part{text, c}), append(letters, part{letter, c})
	}
	if l := fit(width, cells...); len(l) == 2*len(cells)-1 { // none left out
		return l
	}
	return letters[:min(len(letters), 1+width-letters[:1].width())]
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
