package text

import (
	"strings"
	"unicode/utf8"

	"muxlock/internal/fold"
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
		lines = append(lines, fold.Lines(line, width, indent, indent+2)...)
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
