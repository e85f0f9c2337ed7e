package commandline

import (
	"slices"
	"strings"

	"muxlock/cmd/lockbench/internal/result"
)

// Of returns the command that makes such a document again, with every choice written out,
// folded to lines of a shell. It is empty for an older document without Args. The user has to
// add passwords of masters.
func Of(doc result.Document) string {
	c := doc.Config
	var asked []Setting // flags of the advice
	if doc.Advice != nil {
		asked = Settings(doc.Advice.Args)
	}
	switch {
	case len(c.Args) == 0 && len(asked) > 0: // advice from a process: there was no load
		return folded(wordsOf("advise", nil, asked))
	case len(c.Args) == 0:
		return ""
	case c.Command == "advise": // Args is the load of the measurement
		return folded(wordsOf("advise", &c, asked))
	}
	line := folded(wordsOf(c.Command, &c, Settings(c.Args)))
	if doc.Advice == nil {
		return line
	}
	// The advice rests on a result of an earlier run.
	return line + " \\\n    -o json --out result.json\n" + folded(wordsOf("advise result.json", nil, asked))
}

// wordsOf returns a command with its flags; the flag of its masters, if any, comes first.
func wordsOf(command string, of *result.Config, settings []Setting) []string {
	words := []string{"lockbench " + command}
	swept := slices.ContainsFunc(settings, func(s Setting) bool { return s.Flag == "param" && strings.HasPrefix(s.Value, "masters=") })
	if of != nil && len(of.Masters) > 0 && !(swept && of.Target == "local") {
		settings = append([]Setting{targetShown(*of)}, settings...)
	}
	for _, s := range settings {
		switch s.Value {
		case "true":
			words = append(words, "--"+s.Flag)
		case "false":
			words = append(words, "--"+s.Flag+"=false")
		default:
			words = append(words, "--"+s.Flag+" "+quoted(s.Value))
		}
	}
	return words
}

// folded joins words into lines of a shell that fit into a window.
func folded(words []string) string {
	const width = 76
	text, line := "", ""
	for _, w := range words {
		if line != "" && len(line)+len(w) > width {
			text, line = text+line+" \\\n", "   "
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return text + line
}

// quoted quotes an argument for a shell.
func quoted(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/@=+%", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
