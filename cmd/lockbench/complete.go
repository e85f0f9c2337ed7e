package main

import (
	"strings"

	"github.com/spf13/cobra"

	"muxlock/bench"
)

// completeFlags tells a shell the values of flags that take one of a few.
func completeFlags(cmd *cobra.Command) {
	complete(cmd, "output", formats)
	complete(cmd, "arrivals", []string{bench.Poisson, bench.Even})
	complete(cmd, "dist", []string{"own", "uniform", "zipf:0.99"})
	complete(cmd, "op", []string{"acquire-release", "try", "extend", "hold"})
	// A list: what stands before the last comma stays.
	register(cmd, "impl", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var values []string
		for _, name := range implNames() {
			values = append(values, before+name)
		}
		return values, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

func complete(cmd *cobra.Command, flag string, values []string) {
	register(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func register(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag
	}
}
