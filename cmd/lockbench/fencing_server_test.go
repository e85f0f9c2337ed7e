package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/internal/testing/redistest"
)

func TestGivenMastersAreSetUpForFencingBefore(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	stdout, stderr, code := within(t, session.Open, "run", "--fencing", "--masters", strings.Join(addrs, ","))
	require.Equal(t, exitRun, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "muxlock masters init")
}

// Each setting sets the masters up anew, even with another number of masters or another longest lease.
func TestASweepSetsMastersUpForEachSetting(t *testing.T) {
	t.Parallel()
	for _, param := range []string{"masters=3,1", "ttl=10s,100s"} {
		doc, _ := measured(t, "sweep --fencing --workers 2 --hold 1ms --duration 800ms --warmup 0s --fault kill:1@600ms-650ms --param "+param)
		for _, r := range doc.Results {
			require.Positive(t, r.Totals.Fenced)
		}
	}
}

func TestChaosFencesUnlessItIsToldOtherwiseOrCannot(t *testing.T) {
	for line, want := range map[string]bool{"": true, "--fencing=false": false, "--impl redislock": false} {
		p := planned(t, line)
		require.Equal(t, want, p.Fencing, line)
		require.NotEqual(t, want, strings.Contains(again(result.Document{Config: result.Config{Settings: p.Settings, Command: "chaos"}}), "--fencing=false"), "and can be pasted")
	}
}
