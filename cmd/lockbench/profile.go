package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A profile is a load and what a healthy installation makes of it: flags that the
// user leaves alone take its values.
type profile struct {
	name  string
	of    string // what it is for
	local bool   // local masters are what it means, so it needs no others named
	flags []setting
	slos  []string
}

// setting is a flag and its values: several, where it may be given again.
type setting struct {
	flag   string
	values []string
}

// The loads are open loops, as callers in services are, and far below what such
// masters can do: what is judged is how it feels, not how much it bears. All leave
// the p99 some hundred samples. The limits rest on one round trip to acquire:
// twice the round trip at the median, since a quorum's slowest vote counts, and
// some 20 at p99, which leaves room for a pause of the garbage collector or a lost
// packet's retransmission within a rack, but not for a retry after a master's timeout.
// On one machine there is no round trip to speak of; there the scheduler is the limit.
var profiles = []profile{{
	name: "dev", of: "five local masters on a machine that does other things too", local: true,
	flags: []setting{{"rate", []string{"500"}}, {"keys", []string{"1000"}}, {"hold", []string{"exp:1ms"}}, {"workers", []string{"256"}}, {"duration", []string{"10s"}}},
	slos:  []string{"acquire.response.p50<5ms", "acquire.response.p99<50ms", "error_rate<0.1%", "timeout_rate<0.1%", "overlaps==0"},
}, {
	name: "lan", of: "masters in one data centre, less than 1 ms away",
	flags: []setting{{"rate", []string{"1000"}}, {"keys", []string{"10000"}}, {"hold", []string{"exp:5ms"}}, {"workers", []string{"512"}}, {"duration", []string{"20s"}}},
	slos:  []string{"acquire.response.p50<2ms", "acquire.response.p99<20ms", "release.p99<20ms", "error_rate<0.1%", "timeout_rate<0.1%", "overlaps==0"},
}, {
	name: "multi-az", of: "masters in several zones of one region, 1 to 3 ms away",
	flags: []setting{{"rate", []string{"1000"}}, {"keys", []string{"10000"}}, {"hold", []string{"exp:5ms"}}, {"workers", []string{"512"}}, {"duration", []string{"20s"}}},
	slos:  []string{"acquire.response.p50<6ms", "acquire.response.p99<60ms", "release.p99<60ms", "error_rate<0.1%", "timeout_rate<0.1%", "overlaps==0"},
}}

func profileNames() (names []string) {
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}

// profilesHelp is a table for the help of run.
func profilesHelp() string {
	var b strings.Builder
	fmt.Fprintln(&b, "Profiles: a load and its objectives; flags beside it change the load, --slo adds objectives.")
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, p := range profiles {
		fmt.Fprintf(tw, "  %s\t%s\n", p.name, p.of)
		var flags []string
		for _, s := range p.flags {
			flags = append(flags, "--"+s.flag+" "+s.values[0])
		}
		fmt.Fprintf(tw, "  \t%s\n", strings.Join(flags, " "))
		fmt.Fprintf(tw, "  \t%s\n", strings.Join(p.slos, "  "))
	}
	tw.Flush()
	return strings.TrimRight(b.String(), "\n")
}

func (f *flags) declareProfile(cmd *cobra.Command) {
	declare(cmd, ofJudgement, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.profile, "profile", "", "PASS or FAIL as the last line: "+strings.Join(profileNames(), ", "))
		once(fs, "profile")
		fs.StringVar(&f.check, "check", "", "try what lockbench advise -o json wrote into this file, on its masters: predicted, measured, and PASS or FAIL as the last line")
		once(fs, "check")
	})
}

// takeProfile gives the flags that the user left alone the values of --profile.
func (f *flags) takeProfile(cmd *cobra.Command) error {
	if f.profile == "" {
		return nil
	}
	i := slices.IndexFunc(profiles, func(p profile) bool { return p.name == f.profile })
	if i < 0 {
		return usagef("--profile %q is unknown; there are %s", f.profile, strings.Join(profileNames(), ", "))
	}
	p := profiles[i]
	if !p.local && !slices.ContainsFunc(targetFlags, cmd.Flags().Changed) {
		return usagef("--profile %s judges %s: name yours with --masters", p.name, p.of)
	}
	f.slos = append(slices.Clone(p.slos), f.slos...)
	return take(cmd, p.flags)
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
