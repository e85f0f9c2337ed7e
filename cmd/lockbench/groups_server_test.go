package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

func TestARunOnGroupsSaysSoAndIsDoneAgain(t *testing.T) {
	t.Parallel()
	name := keep(t, words("run --embedded 3 --groups 2 --keys 20 --workers 4 --procs 2 --duration 300ms --warmup 0s")...)
	first, err := result.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 2, first.Config.Groups)
	require.Len(t, first.Config.Masters, 6)
	require.Equal(t, 6, first.Results[0].Masters)
	require.Positive(t, first.Results[0].Totals.Acquired)
	require.Zero(t, first.Results[0].Safety.Overlaps)

	again, err := result.ReadFile(keep(t, "run", "--config", name))
	require.NoError(t, err)
	again.Config.Masters = first.Config.Masters // new ones
	require.Equal(t, first.Config, again.Config)

	stdout, _, code := lockbench(t, "report", name)
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "6 masters in 2 groups (embedded")
	_, stderr, code := lockbench(t, "advise", name)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "several groups of masters")
}

func TestASweepOfGroupsAddsMasters(t *testing.T) {
	t.Parallel()
	doc, err := result.ReadFile(keep(t, words("sweep --embedded 1 --param groups=1,3 --fencing --workers 2 --duration 300ms --warmup 0s")...))
	require.NoError(t, err)
	require.Len(t, doc.Config.Masters, 3)
	require.Len(t, doc.Results, 2)
	require.Equal(t, []int{1, 3}, []int{doc.Results[0].Masters, doc.Results[1].Masters})
	for _, r := range doc.Results {
		require.Positive(t, r.Totals.Acquired)
		require.Equal(t, r.Totals.Acquired, r.Totals.Fenced)
	}
}
