// Package fold breaks text into lines.
package fold

import "strings"

// Lines breaks text into lines of at most so many cells; only a longer word exceeds them. It prefers breaks at two spaces,
// which separate figures. The first line begins with first spaces, the others with rest.
func Lines(text string, cells, first, rest int) (lines []string) {
	indent, text := strings.Repeat(" ", first), strings.Trim(text, " ")
	for {
		room, runes := max(cells-len(indent), 0), []rune(text)
		if len(runes) <= room {
			return append(lines, indent+text)
		}
		end := len(text)
		if at := len(string(runes[:room+1])); strings.Contains(text[:at], " ") {
			end = strings.LastIndex(text[:at], " ")
			if gap := strings.LastIndex(text[:at], "  "); gap > at/2 {
				end = gap
			}
		} else if space := strings.Index(text, " "); space >= 0 {
			end = space
		}
		lines = append(lines, indent+strings.TrimRight(text[:end], " "))
		text, indent = strings.TrimLeft(text[end:], " "), strings.Repeat(" ", rest)
		if text == "" {
			return lines
		}
	}
}
