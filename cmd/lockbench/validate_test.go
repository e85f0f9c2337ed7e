package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/validation"
)

func TestValidateRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []struct{ args, output []string }{
		{[]string{"--case", "gaps"}, []string{"--case", `"gaps" is not one of quorum`}},
		{[]string{"--case", ""}, []string{"--case names none"}},
		{[]string{"--duration", "1ms"}, []string{"--duration must be 100ms to 10m0s, got 1ms"}},
		{[]string{"-o", "bench"}, []string{"-o must be text or json"}},
		{[]string{"--html", "no/such/folder/x.html"}, []string{"--html"}},
		{[]string{"--out", "no/such/folder/x"}, []string{"--out"}},
		{[]string{"more"}, []string{"more"}},
	} {
		stdout, stderr, code := lockbench(t, append([]string{"validate"}, c.args...)...)
		require.Equal(t, exitUsage, code, "%v", c.args)
		require.Empty(t, stdout)
		for _, want := range c.output {
			require.Contains(t, stderr, want)
		}
	}
}

func TestValidateWritesWhatReportReads(t *testing.T) {
	needServer(t)
	page := filepath.Join(t.TempDir(), "validation.html")
	stdout, stderr, code := lockbench(t, "validate", "--case", "queue", "--duration", "300ms", "--seed", "7", "-o", "json", "--html", page)
	require.Contains(t, []int{exitOK, exitNotValid}, code, stderr) // this machine may be busy
	require.Contains(t, stderr, "queue: 1 engine")
	var doc result.Document
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Equal(t, "validate", doc.Config.Command)
	require.EqualValues(t, 7, doc.Config.Seed)
	require.NotEmpty(t, doc.Validation)
	for _, c := range doc.Validation {
		require.Equal(t, "F11", c.Formula)
		require.Positive(t, c.Measured.Value)
	}

	text, stderr, code := lockbench(t, "report", page, "-o", "text")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, text, "mean wait in line")
	require.Contains(t, text, "2 predictions: ")
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "2 predictions: ")
	require.Contains(t, string(html), "lockbench validate --case queue --duration 300ms --seed 7")
}

func TestOnePredictionOutsideMakesTheMeasurementNotValid(t *testing.T) {
	within, outside := validation.Check{Verdict: validation.Within}, validation.Check{Verdict: validation.Outside}
	require.NoError(t, judgeChecks([]validation.Check{within, within}))
	for _, bad := range []validation.Check{outside, {Verdict: validation.Unmeasured}} {
		code, _ := exitCode(judgeChecks([]validation.Check{within, bad, within}))
		require.Equal(t, exitNotValid, code)
	}
}
