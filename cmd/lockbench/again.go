package main

import (
	"github.com/spf13/cobra"

	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
)

// loads are the commands with a load, by name. Their flags have the values in a plan.Flags.
func (c commands) loads() map[string]func(*plan.Flags) *cobra.Command {
	return map[string]func(*plan.Flags) *cobra.Command{"run": c.run, "compare": c.compare, "sweep": c.sweep, "chaos": c.chaos}
}

// again returns the command that makes such a document again. It is two commands, a line each, for an advice on an earlier
// run.
func again(doc result.Document) string {
	var line string
	if command, is := (commands{}).loads()[doc.Config.Command]; is {
		var f plan.Flags
		fs := command(&f).Flags()
		f.Settings = doc.Config.Settings
		line = plan.Again(doc, fs)
	}
	a := doc.Advice
	if a == nil {
		return line
	}
	f := adviseFlags{}
	fs := adviseCommand(&f).Flags()
	f.ask, f.from = a.Ask, a.From
	if a.Ask.Hold != nil {
		f.hold = *a.Ask.Hold
	}
	switch {
	case line != "":
		return line + " -o json --out result.json\n" + plan.Again(result.Document{Config: result.Config{Command: "advise result.json"}}, fs)
	case a.From == "":
		f.load.Settings = doc.Config.Settings
	default: // a process measured, on its masters
		doc.Config.Masters = nil
	}
	return plan.Again(doc, fs)
}
