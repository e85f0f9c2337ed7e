package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
)

// setting is a flag and its values: several, where it may be given again.
type setting struct {
	flag   string
	values []string
}

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
	if !slices.ContainsFunc(targetFlags, cmd.Flags().Changed) {
		target, err := targetOf(doc.Config)
		if err != nil {
			return usagef("--config: %s %w", f.config, err)
		}
		settings = append(settings, target)
	}
	if err := take(cmd, withSamples(settings, doc)); err != nil {
		return usagef("--config: %s is damaged: %w", f.config, err)
	}
	return nil
}

// take sets the flags that are not set yet, and would not contradict one that is:
// the number of names means nothing where every worker has one of its own. What the
// command does not have, and what another sweep swept, is left out.
func take(cmd *cobra.Command, settings []setting) error {
	given := map[string]bool{}
	cmd.Flags().Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	if given["dist"] && cmd.Flag("dist").Value.String() == "own" {
		given["keys"] = true
	}
	for _, s := range settings {
		flag := cmd.Flags().Lookup(s.flag)
		if flag == nil || headingOf(flag) == ofSweep || given[s.flag] || s.flag == "dist" && s.values[0] == "own" && given["keys"] {
			continue
		}
		for _, v := range s.values {
			if err := cmd.Flags().Set(s.flag, v); err != nil {
				return usagef("--%s %s: %w", s.flag, v, err)
			}
		}
	}
	return nil
}

// withSamples puts the samples that a document has kept in the place of the file that they
// came from, which may be another one by now.
func withSamples(settings []setting, doc *result.Document) []setting {
	kept := []bench.Span{doc.Config.Hold, doc.Config.Think}
	if doc.Advice != nil && doc.Advice.Ask.Hold != nil {
		kept = append(kept, *doc.Advice.Ask.Hold)
	}
	for i, s := range settings {
		for _, span := range kept {
			if text, err := span.MarshalText(); err == nil && span.Samples() != nil && slices.Equal(s.values, []string{span.String()}) {
				settings[i].values = []string{string(text)}
			}
		}
	}
	return settings
}

// settingsOf is the flags that a document has kept, see arguments.
func settingsOf(args []string) (settings []setting) {
	for _, arg := range args {
		name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !ok {
			value = "true"
		}
		settings = append(settings, setting{name, []string{value}})
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
