// Package commandline turns the flags that a document keeps into settings and into lines for a
// shell.
package commandline

import (
	"fmt"
	"strconv"
	"strings"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
)

// Setting is a flag and its values; several if the flag may be repeated.
type Setting struct {
	Flag  string
	Value string
}

// Settings parses the flags of a document: --name=value each, or --name for true.
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

// Target returns the flag for the same masters, or for as many masters of the same kind in each group.
func Target(c result.Config) (Setting, error) {
	switch masters.Kind(c.Target) {
	case masters.Local, masters.Embedded:
		return Setting{c.Target, strconv.Itoa(len(c.Masters) / max(c.Groups, 1))}, nil
	case masters.Given:
		if c.MastersRedacted {
			return Setting{}, fmt.Errorf("does not keep passwords: name its masters again with --masters (%s)", strings.Join(c.Masters, ","))
		}
		return Setting{"masters", strings.Join(c.Masters, ",")}, nil
	}
	return Setting{}, fmt.Errorf("is damaged: its masters are neither given, local nor embedded but %q", c.Target)
}

// targetShown is Target for people, who can add the passwords that a document lacks.
func targetShown(c result.Config) Setting {
	target, err := Target(c)
	if err != nil {
		return Setting{"masters", strings.Join(c.Masters, ",")}
	}
	return target
}
