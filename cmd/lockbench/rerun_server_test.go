package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

// Package plan tries what --config takes from a file.
func TestAnEarlierRunIsDoneAgain(t *testing.T) {
	name := keep(t, steady, "run --embedded 3 --groups 2 --keys 20 --procs 2 --rounds 2 --hold exp:1ms --seed 77 --slo throughput>1")
	first, err := result.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 2, first.Config.Groups)
	require.Len(t, first.Config.Masters, 6)
	require.Len(t, first.Results, 2)
	require.Equal(t, 6, first.Results[0].Masters)

	again, err := result.ReadFile(keep(t, steady, "run --config "+name))
	require.NoError(t, err)
	require.Equal(t, first.Config, again.Config)

	stdout, _, code := within(t, nil, "report", name)
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "6 masters in 2 groups (embedded")
	_, stderr, code := within(t, nil, "advise", name)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "several groups of masters")
}

func TestASweepOfGroupsAddsMasters(t *testing.T) {
	doc, _ := made(t, steady, "sweep --local 1 --param groups=1,3")
	require.Len(t, doc.Config.Masters, 3)
	require.Len(t, doc.Results, 2)
	require.Equal(t, []int{1, 3}, []int{doc.Results[0].Masters, doc.Results[1].Masters})
}
