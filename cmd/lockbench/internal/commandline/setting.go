// Package commandline is between the flags of a command and the document that it made: what
// a document keeps of them, as settings, and as lines for a shell.
package commandline

import (
	"fmt"
	"strconv"
	"strings"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
)

// Setting is a flag and its value. A flag that may be repeated has several of them.
type Setting struct {
	Flag  string
	Value string
}

// Settings is the flags that a document has kept, each --name=value, or --name for true.
func Settings(args []string) (settings []Setting) {
	for _, arg := range args {
		name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !ok {
			value = "true"
		}
		settings = append(settings, Setting{name, value})
	}
	return settings
}

// Target is the flag that gets the same kind of masters, or the same ones.
func Target(c result.Config) (Setting, error) {
	switch masters.Kind(c.Target) {
	case masters.Local, masters.Embedded:
		return Setting{c.Target, strconv.Itoa(len(c.Masters))}, nil
	case masters.Given:
		if c.MastersRedacted {
			return Setting{}, fmt.Errorf("does not keep passwords: name its masters again with --masters (%s)", strings.Join(c.Masters, ","))
		}
		return Setting{"masters", strings.Join(c.Masters, ",")}, nil
	}
	return Setting{}, fmt.Errorf("is damaged: its masters are neither given, local nor embedded but %q", c.Target)
}

// targetShown is the same for people, who can put in passwords that are not kept.
func targetShown(c result.Config) Setting {
	target, err := Target(c)
	if err != nil {
		return Setting{"masters", strings.Join(c.Masters, ",")}
	}
	return target
}
