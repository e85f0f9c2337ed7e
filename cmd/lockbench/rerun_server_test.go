package main

import (
	"os"
	"path/filepath"
	"strings"
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

func TestAnEarlierRunIsDoneAgain(t *testing.T) {
	t.Parallel()
	name := keep(t, "run", "--embedded", "3", "--impl", "redislock,muxlock", "--rounds", "2", "--rate", "300", "--arrivals", "uniform", "--dist", "zipf:0.9", "--keys", "7",
		"--hold", "exp:1ms", "--duration", "150ms", "--warmup", "10ms", "--ttl", "9s", "--wait", "1s", "--master-timeout", "2s", "--workers", "9",
		"--seed", "77", "--slo", "jain>0", "--slo", "overlaps==0")
	first, err := result.ReadFile(name)
	require.NoError(t, err)
	again, err := result.ReadFile(keep(t, "run", "--config", name))
	require.NoError(t, err)
	same := func(want, got result.Config) {
		want.Masters, got.Masters = nil, nil // new ones
		require.Equal(t, want, got)
	}
	same(first.Config, again.Config)
	require.Len(t, again.Config.Masters, 3)

	again, err = result.ReadFile(keep(t, "run", "--config", name, "--seed", "78", "--rounds", "1", "--embedded", "1", "--slo", "jain>0.1"))
	require.NoError(t, err)
	changed := first.Config
	changed.Seed, changed.Rounds, changed.SLO = 78, 1, []string{"jain>0.1", "failure_rate<=1%", "goodput>=95%"}
	same(changed, again.Config)
	require.Len(t, again.Config.Masters, 1)
}

func TestDamagedAndForeignFilesAreUsageErrors(t *testing.T) {
	t.Parallel()
	whole := read(t, keep(t, words(quick)...))
	dir := t.TempDir()
	for want, text := range map[string]string{
		"is empty":                            "",
		"is not JSON":                         "lockbench",
		"is cut off":                          whole[:len(whole)-9],
		"is JSON, but no result of lockbench": `{"results": []}`,
		"another lockbench: schema 1, this one reads 3": strings.Replace(whole, `"schema_version": 3`, `"schema_version": 1`, 1),
		"no such file": "-",
	} {
		name := filepath.Join(dir, "r.json")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		if text == "-" {
			name += ".not"
		}
		for _, args := range [][]string{{"run", "--config", name}, {"report", name}} {
			stdout, stderr, code := lockbench(t, args...)
			require.Equal(t, exitUsage, code, stderr)
			require.Contains(t, stderr, want)
			require.Contains(t, stderr, "r.json")
			require.Empty(t, stdout)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
