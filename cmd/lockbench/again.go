package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"muxlock/bench"
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
	settings := settingsOf(doc)
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

// settingsOf is the flags that made a result, but for its masters. A document of before
// arguments were kept has them in its workload.
func settingsOf(doc *result.Document) (settings []setting) {
	for _, arg := range doc.Config.Args {
		settings = append(settings, settingOf(arg))
	}
	if len(settings) > 0 {
		return settings
	}
	c := doc.Config
	settings = []setting{
		{"impl", []string{strings.Join(c.Impls, ",")}},
		{"workers", []string{strconv.Itoa(c.Workers)}},
		{"procs", []string{strconv.Itoa(max(c.Procs, 1))}},
		{"dist", []string{c.Dist.String()}},
		{"hold", []string{c.Hold.String()}},
		{"think", []string{c.Think.String()}},
		{"duration", []string{c.Duration.String()}},
		{"warmup", []string{c.Warmup.String()}},
		{"ramp", []string{c.Ramp.String()}},
		{"rounds", []string{strconv.Itoa(c.Rounds)}},
		{"ttl", []string{c.TTL.String()}},
		{"master-timeout", []string{c.MasterTimeout.String()}},
		{"probe-every", []string{c.ProbeEvery.String()}},
		{"wait", []string{c.Wait.String()}},
		{"op", []string{c.Op.String()}},
		{"seed", []string{strconv.FormatUint(c.Seed, 10)}},
		{"fault", c.Faults},
		{"slo", c.SLO},
	}
	if c.Dist != (bench.Dist{}) || c.Op == bench.Hold {
		settings = append(settings, setting{"keys", []string{strconv.Itoa(c.Keys)}})
	}
	if c.Rate > 0 {
		settings = append(settings, setting{"rate", []string{strconv.FormatFloat(c.Rate, 'g', -1, 64)}})
	}
	if c.Arrivals != "" {
		settings = append(settings, setting{"arrivals", []string{c.Arrivals}})
	}
	if c.DropAfter > 0 {
		settings = append(settings, setting{"drop-after", []string{c.DropAfter.String()}})
	}
	if c.Steady > 0 {
		settings = append(settings, setting{"steady", []string{strconv.FormatFloat(c.Steady, 'g', -1, 64)}})
	}
	// The times whose default is not 0 are given also where they are.
	return slices.DeleteFunc(settings, func(s setting) bool {
		return len(s.values) == 1 && s.values[0] == "0s" && s.flag != "warmup" && s.flag != "probe-every"
	})
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
