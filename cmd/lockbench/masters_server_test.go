package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBadInputOfMastersNamesItsFlagAndStartsNothing(t *testing.T) {
	requireRefused(t, map[string]string{
		"run --probe-every -1s":                 "--probe-every",
		"run --probe-every 10us":                "--probe-every",
		"run --new-masters":                     "--new-masters",
		"compare --embedded 3 --new-masters":    "--new-masters",
		"masters --local 100":                   "--local",
		"masters --for -1s":                     "--for",
		"masters --local 2 --fault delay:3:1ms": "--fault",
		"masters --local 2 --fault stop:1":      "--fault",
		"masters --masters a:1":                 "--masters",
	})
}

func TestMastersRunUntilTheyAreStoppedAndCanBeLockedOn(t *testing.T) {
	t.Parallel()
	needServer(t)
	cmd := exec.Command(binary, "masters", "--local", "2", "--fault", "delay:2:30ms")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addrs := strings.TrimSpace(line)
	require.Len(t, strings.Split(addrs, ","), 2)

	// The masters are too young to vote, and the error says so.
	stdout, stderr, code := lockbench(t, "run", "--masters", addrs, "--master-timeout", "2s", "--duration", "200ms", "--warmup", "0s")
	require.Equal(t, exitRun, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "0 of 2 masters vote, 2 are needed, in ")
	require.Contains(t, stderr, "no vote for another")

	stdout, stderr, code = lockbench(t, "run", "--masters", addrs, "--new-masters", "--master-timeout", "2s", "--workers", "2", "--duration", "500ms", "--warmup", "0s", "--probe-every", "5ms", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	first := doc["results"].([]any)[0]
	seen, _ := at(first, "per_master")
	require.Len(t, seen, 2)
	p50, _ := at(seen.([]any)[1], "rtt.p.50")
	require.Greater(t, p50, float64(30*time.Millisecond))
	rows, _ := at(first, "probe.rows")
	require.Greater(t, len(rows.([]any)), 20)
	require.Len(t, rows.([]any)[0], 2)
	medians, _ := at(first.(map[string]any)["series"].([]any)[0], "master_ns")
	require.Len(t, medians, 2)

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), "Ctrl-C is how it ends")
}

func TestProbingCanBeLeftOut(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--embedded", "3", "--duration", "100ms", "--warmup", "0s", "--probe-every", "0", "-o", "json")
	requireMeasured(t, code, stderr)
	_, ok := at(requireFields(t, stdout)["results"].([]any)[0], "per_master")
	require.False(t, ok)
}

func TestMastersOfAProcessRunAreProbedOnce(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t, "run", "--embedded", "2", "--procs", "2", "--duration", "1s", "--warmup", "0s", "--probe-every", "5ms", "--master-timeout", "8s")
	requireMeasured(t, code, stderr)
	require.Contains(t, stdout, "rtt p50")
}
