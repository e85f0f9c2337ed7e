package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// flagLine matches the first line of a flag in the help.
var flagLine = regexp.MustCompile(`^ +(?:-\w, )?--([\w-]+)`)

func TestEveryFlagStandsOnceInTheHelpUnderAHeading(t *testing.T) {
	for _, cmd := range (commands{}).root().Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		var lines []string
		for line := range strings.Lines(groupedFlags(cmd.Flags(), 0)) {
			if m := flagLine.FindStringSubmatch(line); m != nil {
				lines = append(lines, m[1])
			}
		}
		var want []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				want = append(want, f.Name)
				require.True(t, f.Name == "help" || f.Annotations != nil, "declare --%s of %s under a heading", f.Name, cmd.Name())
			}
		})
		require.ElementsMatch(t, want, lines, cmd.Name())
	}
}

func TestHelpHasExamplesAndFitsAScreen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"run", "compare", "sweep"} {
		stdout, stderr, code := lockbench(t, name, "--help")
		require.Zero(t, code)
		require.Empty(t, stderr)
		require.GreaterOrEqual(t, strings.Count(stdout, "\n  lockbench "+name), 1+3, "the usage line and three examples")
		require.LessOrEqual(t, strings.Count(stdout, "\n"), 78)
		require.Less(t, strings.Index(stdout, "\nTarget:"), strings.Index(stdout, "\nLoad:"))
		require.Less(t, strings.Index(stdout, "\nLoad:"), strings.Index(stdout, "\nOutput:"))
	}
}
