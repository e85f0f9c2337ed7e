package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

// keep runs lockbench and returns the name of its result file.
func keep(t *testing.T, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "result.json")
	_, stderr, code := lockbench(t, append(args, "-o", "json", "--out", name)...)
	requireMeasured(t, code, stderr)
	return name
}

// Package plan tries what --config takes from a file.
func TestAnEarlierRunIsDoneAgain(t *testing.T) {
	t.Parallel()
	name := keep(t, words("run --embedded 3 --groups 2 --keys 20 --workers 4 --procs 2 --rounds 2 --hold exp:1ms --duration 300ms --warmup 0s --seed 77 --slo jain>0")...)
	first, err := result.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 2, first.Config.Groups)
	require.Len(t, first.Config.Masters, 6)
	require.Len(t, first.Results, 2)
	for _, r := range first.Results {
		require.Equal(t, 6, r.Masters)
		require.Positive(t, r.Totals.Acquired)
		require.Zero(t, r.Safety.Overlaps)
	}

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
	doc, _ := measured(t, "sweep --embedded 1 --param groups=1,3 --fencing --workers 2 --duration 300ms --warmup 0s")
	require.Len(t, doc.Config.Masters, 3)
	require.Len(t, doc.Results, 2)
	require.Equal(t, []int{1, 3}, []int{doc.Results[0].Masters, doc.Results[1].Masters})
	for _, r := range doc.Results {
		require.Positive(t, r.Totals.Acquired)
		require.Equal(t, r.Totals.Acquired, r.Totals.Fenced)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
