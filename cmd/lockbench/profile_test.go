package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestAProfileEndsWithOneWord(t *testing.T) {
	t.Parallel()
	line := strings.Replace(quick, "run", "run --profile dev --dist own", 1)
	var stdout, stderr string
	code := exitMissed
	for attempt := 0; code != exitOK && attempt < 5; attempt++ { // a busy machine may miss what the profile asks for
		stdout, stderr, code = lockbench(t, words(line)...)
	}
	require.Equal(t, exitOK, code, stderr)
	require.True(t, strings.HasSuffix(stdout, "\nPASS\n"), stdout)
	require.Contains(t, flat(stdout), "keys own hold exp:1ms", "the profile's load where no flag is given")
	require.Contains(t, stdout, "2,000/s")

	stdout, stderr, code = lockbench(t, append(words(line), "-o", "json", "--slo", "throughput>1M")...)
	require.Contains(t, []int{exitMissed, exitNotValid}, code)
	require.True(t, strings.HasSuffix(stdout, "}\n"), "the document stays one")
	require.Contains(t, stderr, "\nFAIL\n")
}

func TestProfilesAreSound(t *testing.T) {
	for _, p := range profiles {
		line := []string{"--profile", p.name, "--local", "5"}
		cmd, f := runFlags(t, line...)
		plan, err := f.plan(cmd)
		require.NoError(t, err)
		require.Len(t, plan.objectives, len(p.slos)+2, "and what is implied")
		tail := plan.cfg.Rate * plan.cfg.Duration.Seconds() / 100
		require.GreaterOrEqual(t, tail, 50.0, "samples beyond p99")
		require.Contains(t, profilesHelp(), p.name)
	}
}

// runFlags is the flags of run as a command line sets them.
func runFlags(t *testing.T, args ...string) (*cobra.Command, *flags) {
	t.Helper()
	var f flags
	cmd := &cobra.Command{Use: "run"}
	f.declare(cmd, "muxlock", 1, formats...)
	f.declareProfile(cmd)
	require.NoError(t, cmd.Flags().Parse(args))
	return cmd, &f
}
