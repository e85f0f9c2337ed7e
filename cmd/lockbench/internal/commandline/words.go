package commandline

import (
	"slices"
	"strings"

	"muxlock/cmd/lockbench/internal/result"
)

// Of returns the command that makes such a document again, with every choice written out. It is
// two commands, a line each, for an advice on an earlier run, and empty for an older document
// without Args. The user has to add passwords of masters.
func Of(doc result.Document) string {
	c := doc.Config
	var asked []Setting // flags of the advice
	if doc.Advice != nil {
		asked = Settings(doc.Advice.Args)
	}
	switch {
	case len(c.Args) == 0 && len(asked) > 0: // advice from a process: there was no load
		return commandOf("advise", nil, asked)
	case len(c.Args) == 0:
		return ""
	case c.Command == "advise": // Args is the load of the measurement
		return commandOf("advise", &c, asked)
	}
	line := commandOf(c.Command, &c, Settings(c.Args))
	if doc.Advice == nil {
		return line
	}
	// The advice rests on a result of an earlier run.
	return line + " -o json --out result.json\n" + commandOf("advise result.json", nil, asked)
}

// commandOf returns a command with its flags; the flag of its masters, if any, comes first.
func commandOf(command string, of *result.Config, settings []Setting) string {
	line := "lockbench " + command
	swept := slices.ContainsFunc(settings, func(s Setting) bool { return s.Flag == "param" && strings.HasPrefix(s.Value, "masters=") })
	if of != nil && len(of.Masters) > 0 && !(swept && of.Target == "local") {
		settings = append([]Setting{targetShown(*of)}, settings...)
	}
	for _, s := range settings {
		switch s.Value {
		case "true":
			line += " --" + s.Flag
		case "false":
			line += " --" + s.Flag + "=false"
		default:
			line += " --" + s.Flag + " " + quoted(s.Value)
		}
	}
	return line
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
