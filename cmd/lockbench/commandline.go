package main

import (
	"slices"
	"strings"

	"muxlock/cmd/lockbench/internal/result"
)

// commandLine makes such a document again: every choice written out, folded to lines
// of a shell; empty where an older document does not have them. Passwords of masters are
// not known any more and have to be put in.
func commandLine(doc result.Document) string {
	c := doc.Config
	if doc.Advice != nil && len(doc.Advice.Args) > 0 && len(c.Args) == 0 { // of a process: there was no load
		return folded(wordsOf("advise", nil, settingsOf(doc.Advice.Args)))
	}
	if len(c.Args) == 0 {
		return ""
	}
	var asked []setting // of the advice
	if doc.Advice != nil {
		asked = settingsOf(doc.Advice.Args)
	}
	if c.Command == "advise" { // Args is its load
		return folded(wordsOf("advise", &c, asked))
	}
	line := folded(wordsOf(c.Command, &c, settingsOf(c.Args)))
	if doc.Advice == nil {
		return line
	}
	// The advice rests on a result of an earlier run.
	return line + " \\\n    -o json --out result.json\n" + folded(wordsOf("advise result.json", nil, asked))
}

// wordsOf is a command with its flags, the one of its masters first if there are any.
func wordsOf(command string, of *result.Config, settings []setting) []string {
	words := []string{"lockbench " + command}
	swept := slices.ContainsFunc(settings, func(s setting) bool { return s.flag == "param" && strings.HasPrefix(s.values[0], "masters=") })
	if of != nil && len(of.Masters) > 0 && !(swept && of.Target == "local") {
		settings = append([]setting{targetShown(*of)}, settings...)
	}
	for _, s := range settings {
		for _, value := range s.values {
			switch value {
			case "true":
				words = append(words, "--"+s.flag)
			case "false":
				words = append(words, "--"+s.flag+"=false")
			default:
				words = append(words, "--"+s.flag+" "+quoted(value))
			}
		}
	}
	return words
}

// folded joins words to lines of a shell that fit into a window.
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
