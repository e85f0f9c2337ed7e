package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/redistest"
)

func TestBadInputOfDoctorAndMastersNamesItsFlagAndStartsNothing(t *testing.T) {
	t.Parallel()
	requireRefused(t, map[string]string{
		"run --probe-every -1s":                 "--probe-every",
		"run --probe-every 10us":                "--probe-every",
		"run --new-masters":                     "--new-masters",
		"compare --embedded 3 --new-masters":    "--new-masters",
		"doctor --new-masters":                  "--new-masters",
		"doctor --masters here":                 "--masters",
		"doctor --masters=":                     "--masters",
		"doctor --masters a:1 --local 3":        "--local",
		"doctor --local 0":                      "--local",
		"doctor --for 0s":                       "--for",
		"doctor --max-ttl 0s":                   "--max-ttl",
		"doctor -o yaml":                        "-o",
		"doctor now":                            "now",
		"masters --local 100":                   "--local",
		"masters --for -1s":                     "--for",
		"masters --local 2 --fault delay:3:1ms": "--fault",
		"masters --local 2 --fault stop:1":      "--fault",
		"masters --masters a:1":                 "--masters",
	})
}

func TestDoctorFindsLocalMastersFitAndTellsItAsJSON(t *testing.T) {
	t.Parallel()
	needServer(t)
	stdout, stderr, code := lockbench(t, "doctor", "--local", "3", "--for", "200ms", "-o", "json")
	require.Zero(t, code, stderr)
	var doc struct {
		SchemaVersion int `json:"schema_version"`
		Tool          struct{ Name string }
		Worst         string
		Findings      []struct {
			Level, Check, Text string
			Masters            []int
		}
		PerMaster []struct{ Addr string } `json:"per_master"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Equal(t, 2, doc.SchemaVersion)
	require.Equal(t, "lockbench", doc.Tool.Name)
	require.Equal(t, "WARN", doc.Worst, "they share this machine")
	require.Len(t, doc.PerMaster, 3)
	require.Greater(t, len(doc.Findings), 10)
	for _, f := range doc.Findings {
		require.NotNil(t, f.Masters)
		require.Contains(t, []string{"OK", "?", "WARN"}, f.Level)
	}
}

func TestDoctorRefusesWhatNoLockShouldRelyOn(t *testing.T) {
	t.Parallel()
	server := redistest.MastersWith(t, 1, redisserver.Options{Password: "pa55"})[0]
	addr := "redis://:pa55@" + server.Addr()
	stdout, stderr, code := lockbench(t, "doctor", "--masters", addr+","+strings.Replace(addr, "127.0.0.1", "localhost", 1), "--for", "50ms")
	require.Equal(t, exitRun, code)
	require.Regexp(t, ` FAIL same server all are one server .* -> name each server once `, flat(stdout))
	require.Regexp(t, `\n\nFAIL `, stdout, "what is worst stands first")
	require.NotRegexp(t, `(?s)\nOK .*\n(FAIL|WARN) `, stdout)
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
	}
	require.Regexp(t, `\n\n[1-9]\d* FAIL, \d+ WARN, \d+ \?, [1-9]\d* OK\n$`, stdout)
	require.Contains(t, stdout, "master 1: redis://"+server.Addr())
	require.NotContains(t, stdout+stderr, "pa55")
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

	// Too young to vote: that is said.
	stdout, stderr, code := lockbench(t, "run", "--masters", addrs, "--master-timeout", "2s", "--duration", "200ms", "--warmup", "0s")
	require.Equal(t, exitRun, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "0 of 2 masters vote, 2 are needed, in ")
	require.Contains(t, stderr, "no vote for another")

	stdout, stderr, code = lockbench(t, "run", "--masters", addrs, "--new-masters", "--master-timeout", "2s", "--workers", "2", "--duration", "500ms", "--warmup", "0s", "--probe-every", "5ms", "-o", "json")
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	given, _ := at(doc, "config.new_masters")
	require.Equal(t, true, given)
	result := doc["results"].([]any)[0]
	seen, _ := at(result, "per_master")
	require.Len(t, seen, 2)
	p50, _ := at(seen.([]any)[1], "rtt.p.50")
	require.Greater(t, p50, float64(30*time.Millisecond))
	rows, _ := at(result, "probe.rows")
	require.Greater(t, len(rows.([]any)), 20)
	require.Len(t, rows.([]any)[0], 2)
	medians, _ := at(result.(map[string]any)["series"].([]any)[0], "master_ns")
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

func TestDoctorBelievesThatMastersAreNew(t *testing.T) {
	t.Parallel()
	needServer(t)
	addrs := redistest.MastersWith(t, 1, redisserver.Options{})[0].Addr()
	for want, args := range map[string][]string{"WARN": nil, "it may vote at once": {"--new-masters"}} {
		stdout, stderr, _ := lockbench(t, append([]string{"doctor", "--masters", addrs, "--for", "100ms"}, args...)...)
		require.Regexp(t, "(?m)^.*uptime.*$", stdout, stderr)
		for line := range strings.Lines(stdout) {
			if strings.Contains(line, "uptime") {
				require.Contains(t, line, want)
			}
		}
	}
}
