package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
)

// Again returns the command that makes such a document again, with every choice written out. It is
// two commands, a line each, for an advice on an earlier run. The user has to add passwords of
// masters.
func Again(doc result.Document) string {
	c := doc.Config
	var asked []setting // flags of the advice
	if doc.Advice != nil {
		asked = settingsOf(doc.Advice.Args)
	}
	switch {
	case len(c.Args) == 0: // advice from a process: there was no load
		return commandOf("advise", nil, asked)
	case c.Command == "advise": // Args is the load of the measurement
		return commandOf("advise", &c, asked)
	}
	line := commandOf(c.Command, &c, settingsOf(c.Args))
	if doc.Advice == nil {
		return line
	}
	// The advice rests on a result of an earlier run.
	return line + " -o json --out result.json\n" + commandOf("advise result.json", nil, asked)
}

// commandOf returns a command with its flags; the flag of its masters, if any, comes first.
func commandOf(command string, of *result.Config, settings []setting) string {
	line := "lockbench " + command
	swept := slices.ContainsFunc(settings, func(s setting) bool { return s.Flag == "param" && strings.HasPrefix(s.Value, "masters=") })
	if of != nil && len(of.Masters) > 0 && !(swept && of.Target == masters.Local) {
		target, err := targetOf(*of)
		if err != nil { // people can add the passwords that a document lacks
			target = setting{"masters", strings.Join(of.Masters, ",")}
		}
		settings = append([]setting{target}, settings...)
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

// setting is a flag with one of its values.
type setting struct {
	Flag  string
	Value string
}

// settingsOf parses the flags of a document: --name=value each, or --name for true.
func settingsOf(args []string) (settings []setting) {
	for _, arg := range args {
		name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !ok {
			value = "true"
		}
		settings = append(settings, setting{name, value})
	}
	return settings
}

// targetOf returns the flag for the same masters, or for as many masters of the same kind in each group.
func targetOf(c result.Config) (setting, error) {
	switch c.Target {
	case masters.Local, masters.Embedded:
		return setting{string(c.Target), strconv.Itoa(len(c.Masters) / max(c.Groups, 1))}, nil
	case masters.Given:
		if c.MastersRedacted {
			return setting{}, fmt.Errorf("does not keep passwords: name its masters again with --masters (%s)", strings.Join(c.Masters, ","))
		}
		return setting{"masters", strings.Join(c.Masters, ",")}, nil
	}
	return setting{}, fmt.Errorf("is damaged: its masters are neither given, local nor embedded but %q", c.Target)
}
