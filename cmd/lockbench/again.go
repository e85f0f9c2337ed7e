package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
)

// takeConfig gives the flags that the user left alone the values that an earlier
// run had, as its result file has them.
func (f *flags) takeConfig(cmd *cobra.Command) error {
	if f.config == "" {
		return nil
	}
	doc, err := result.ReadFile(f.config)
	if err != nil {
		return usagef("--config: %w", err)
	}
	settings := settingsOf(doc.Config.Args)
	if len(settings) == 0 {
		return usagef("--config: %s has kept no flags", f.config)
	}
	if len(doc.Config.FaultKinds) > 0 { // chaos drew them
		settings = append(settings, setting{"fault", doc.Config.Faults})
	}
	return f.takeFrom(cmd, "--config", f.config, doc.Config, settings)
}

// takeFrom takes settings and the masters of a file that a flag named.
func (f *flags) takeFrom(cmd *cobra.Command, flag, file string, c result.Config, settings []setting) error {
	if !slices.ContainsFunc(targetFlags, cmd.Flags().Changed) {
		target, err := targetOf(c)
		if err != nil {
			return usagef("%s: %s %w", flag, file, err)
		}
		settings = append(settings, target)
	}
	if err := take(cmd, settings); err != nil {
		return usagef("%s: %s is damaged: %w", flag, file, err)
	}
	return nil
}

// settingsOf is the flags that a document has kept.
func settingsOf(args []string) (settings []setting) {
	for _, arg := range args {
		settings = append(settings, settingOf(arg))
	}
	return settings
}

// targetOf is the flag that gets the same kind of masters, or the same ones.
func targetOf(c result.Config) (setting, error) {
	switch masters.Kind(c.Target) {
	case masters.Local, masters.Embedded:
		return setting{c.Target, []string{strconv.Itoa(len(c.Masters))}}, nil
	case masters.Given:
		if c.MastersRedacted {
			return setting{}, fmt.Errorf("does not keep passwords: name its masters again with --masters (%s)", strings.Join(c.Masters, ","))
		}
		return setting{"masters", []string{strings.Join(c.Masters, ",")}}, nil
	}
	return setting{}, fmt.Errorf("is damaged: its masters are neither given, local nor embedded but %q", c.Target)
}

// targetShown is the same for people, who can put in passwords that are not kept.
func targetShown(c result.Config) setting {
	target, err := targetOf(c)
	if err != nil {
		return setting{"masters", []string{strings.Join(c.Masters, ",")}}
	}
	return target
}
