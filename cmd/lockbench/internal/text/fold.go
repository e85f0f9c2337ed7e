package text

import (
	"strings"
	"unicode/utf8"
)

// Fold breaks lines at spaces so that they fit. A continued line is indented by two cells. A
// folded command can still be pasted.
func Fold(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if strings.HasPrefix(line, "  lockbench ") {
			lines = append(lines, foldCommand(line))
			continue
		}
		lines = append(lines, fold(line, width, indent, indent+2)...)
	}
	return strings.Join(lines, "\n")
}

// foldCommand breaks a command before its flags, but not within quotes.
func foldCommand(command string) string {
	const goesOn = " \\"
	line, flags, _ := strings.Cut(command, " --")
	folded, cells := line, utf8.RuneCountInString(line)
	for flag := range strings.SplitSeq(flags, " --") {
		n := utf8.RuneCountInString(" --" + flag)
		if cells+n > width-len(goesOn) && strings.Count(folded, "'")%2 == 0 {
			folded, cells = folded+goesOn+"\n   ", len("   ")
		}
		folded, cells = folded+" --"+flag, cells+n
	}
	return folded
}

// fold breaks text into lines of at most so many cells; only a longer word exceeds them. It
// prefers breaks at two spaces, which separate figures. The first line begins with first spaces,
// the others with rest.
func fold(text string, cells, first, rest int) (lines []string) {
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
