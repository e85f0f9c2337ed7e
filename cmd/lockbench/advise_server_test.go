package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/engine"

	"muxlock/internal/testing/redistest"
)

// keepValid is keep of a run that must be valid, on real servers.
func keepValid(t *testing.T, args ...string) string {
	t.Helper()
	redistest.NeedServer(t)
	file := filepath.Join(t.TempDir(), "load.json")
	_, stderr, code := lockbench(t, append(args, "-o", "json", "--out", file)...)
	require.Zero(t, code, stderr)
	return file
}

func TestAdviceOfARunFollowsFromItsFile(t *testing.T) {
	t.Parallel()
	file := keepValid(t, words("run --local 3 --workers 32 --hold 20ms --duration 2s --warmup 0s")...)

	stdout, stderr, code := lockbench(t, "advise", file, "--rto", "10s")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "Measured: muxlock on 3 masters, for ")
	require.Contains(t, stdout, "  TTL               7s  --rto 10s allows 9.8")
	require.Contains(t, stdout, "engine.Config{")
	require.LessOrEqual(t, strings.Count(stdout, "\n"), 28, stdout)
	_, last, found := strings.Cut(stdout, "  lockbench run --local 3 --ttl 7s")
	require.True(t, found, stdout)
	require.Contains(t, flat(strings.ReplaceAll(last, "\\\n", "")), "--hold file:"+file+" --slo 'lost_validity_rate<=1%'")
	require.True(t, strings.HasSuffix(last, "\n"))

	stdout, stderr, code = lockbench(t, "advise", file, "--hold", "1m", "--rto", "20ms")
	require.Equal(t, exitMissed, code, stderr)
	require.Contains(t, stdout, "\nTOO SHORT: --rto 20ms allows a TTL of 0s at most, and ")
	require.NotContains(t, stdout, "engine.Config{")
	require.Contains(t, stderr, "missed: --rto 20ms allows a TTL of 0s at most, and ")

	doc, _ := measured(t, "advise "+file+" --hold 20ms")
	require.Len(t, doc.Results, 1)
	require.Equal(t, 3, doc.Advice.Masters)
	require.Equal(t, 10*time.Second, doc.Advice.Config.TTL)
	require.Equal(t, "20ms", doc.Advice.Ask.Hold.String())
}

// The trial draws holds as measured, and fails where they outlast the lease.
func TestTheLastLineOfAnAdviceRunsAndCanFail(t *testing.T) {
	t.Parallel()
	file := keepValid(t, words("run --local 3 --workers 32 --hold exp:40ms --duration 3s --warmup 0s")...)
	for _, hold := range []string{"", "exp:2ms", "1h"} {
		args := []string{"advise", file}
		if hold != "" {
			args = append(args, "--hold", hold)
		}
		stdout, stderr, code := lockbench(t, args...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "  lockbench run")
		line := strings.NewReplacer("\\\n", "", "'", "").Replace(stdout[strings.Index(stdout, "  lockbench run"):])
		args = append(strings.Fields(line)[1:], "--warmup", "0s")
		_, stderr, code = lockbench(t, append(args, "--duration", "2s")...)
		require.NotEqual(t, exitUsage, code, "%v: %s", args, stderr)
		if hold == "" {
			_, stderr, code = lockbench(t, append(args, "--duration", "4s", "--workers", "32", "--ttl", "60ms", "--max-ttl", "60ms", "--master-timeout", "50ms")...)
			requireMeasured(t, map[bool]int{true: 0, false: code}[code == exitMissed], stderr)
			require.Equal(t, exitMissed, code, stderr)
			require.Contains(t, stderr, "lost_validity_rate<=1%")
		}
	}
}

func TestAdviceOfLiveMasters(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	doc, _ := measured(t, "advise --local 3 --duration 3s --hold exp:10ms --rto 10m")
	require.Equal(t, "advise", doc.Config.Command)
	require.Positive(t, doc.Results[0].Latency[bench.ValidityUsedTime].Count)
	require.Equal(t, 30*time.Second, doc.Advice.Config.TTL, "up to MaxTTL")
	require.Positive(t, doc.Advice.Outage.N, "probes")
}

func TestHelpOfAdviceHasTwelveFlags(t *testing.T) {
	n := 0
	adviseCommand(&adviseFlags{}).Flags().VisitAll(func(f *pflag.Flag) { n++ })
	require.LessOrEqual(t, n, 12)
}

// The file may be gone or changed: the document has its samples, and so has each process.
func TestHoldsFromAFileAreKeptInTheDocument(t *testing.T) {
	t.Parallel()
	holds := filepath.Join(t.TempDir(), "holds.txt")
	require.NoError(t, os.WriteFile(holds, []byte("# of last week\n1ms\n3ms\n1ms\n"), 0o600))
	doc, _ := measured(t, "run --embedded 1 --impl noop --procs 2 --workers 4 --duration 300ms --warmup 10ms --hold file:"+holds+" --think file:"+holds)
	require.Equal(t, []time.Duration{time.Millisecond, time.Millisecond, 3 * time.Millisecond}, doc.Config.Hold.Samples())
	require.Equal(t, "file:"+holds, doc.Config.Hold.String())
	require.GreaterOrEqual(t, doc.Results[0].Latency[bench.HoldTime].Min, int64(990*time.Microsecond))

	load := keepValid(t, words("run --local 3 --workers 16 --hold 1ms --duration 1s --warmup 10ms")...)
	doc, _ = measured(t, "advise "+load+" --hold file:"+holds)
	require.Len(t, doc.Advice.Ask.Hold.Samples(), 3)
	require.Equal(t, 3*time.Millisecond, doc.Advice.Hold.Took)
}

func TestAnAdviceOnTooLittleSaysWhatToMeasure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nothing, none := filepath.Join(dir, "nothing"), filepath.Join(dir, "none")
	require.NoError(t, os.WriteFile(nothing, []byte(`{"schema_version":3,"tool":{"name":"lockbench"},"config":{},"results":[]}`), 0o600))
	require.NoError(t, os.WriteFile(none, []byte(`{"version":1,"begin":"2026-11-22T15:00:00Z","span_ns":5000000000,"masters":["a:1","b:1","c:1"]}`), 0o600))
	embedded := keep(t, "run", "--embedded", "3", "--workers", "64", "--hold", "1ms", "--duration", "1s", "--warmup", "0s")
	for want, args := range map[string]string{
		"no result in which muxlock acquired anything": nothing,
		"nothing was acquired":                         "--from " + none,
		"embedded masters: the speed means nothing":    embedded,
	} {
		stdout, stderr, code := lockbench(t, words("advise "+args)...)
		require.Equal(t, exitNotValid, code, stderr)
		require.Contains(t, stderr, want)
		require.Empty(t, stdout)
	}
}

// worked returns an engine's measurements of some work.
func worked(t *testing.T) engine.Measurements {
	t.Helper()
	set, err := masters.StartEmbedded(3)
	require.NoError(t, err)
	defer func() { require.NoError(t, set.Close()) }()
	locks, err := engine.New(t.Context(), engine.Config{Masters: set.Addrs, MastersAreNew: true, MasterTimeout: 2 * time.Second, Measure: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close()) }()
	var workers sync.WaitGroup
	for i := range 8 {
		workers.Go(func() {
			for range 150 {
				lock, err := locks.Acquire(t.Context(), fmt.Sprint("invoice/", i%6), 0)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond) // the work
				if err := lock.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	return locks.Measured()
}

func TestAdviceRestsOnWhatAProcessOfTheUsersMeasured(t *testing.T) {
	t.Parallel()
	m := worked(t)
	seen := m.Pauses
	m.Pauses = engine.Durations{} // which holds are without
	advised := func(args ...string) (stdout string) {
		file := filepath.Join(t.TempDir(), "process.json")
		text, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		stdout, stderr, code := lockbench(t, append([]string{"advise", "--from", file, "--rto", "10m"}, args...)...)
		require.Zero(t, code, stderr)
		return stdout
	}
	var doc result.Document
	require.NoError(t, json.Unmarshal([]byte(advised("-o", "json")), &doc))
	longest := func(d engine.Durations) (most time.Duration) {
		for _, one := range d.Longest {
			most = max(most, one.Took)
		}
		return most
	}
	require.Equal(t, m.Masters, doc.Config.Masters)
	require.Empty(t, doc.Results)
	require.Equal(t, longest(m.Holds), doc.Advice.Hold.Took)
	require.Greater(t, doc.Advice.Needed, longest(m.Holds))
	require.Equal(t, 30*time.Second, doc.Advice.Config.TTL)
	require.Equal(t, m.MaxTTL, doc.Advice.Config.MaxTTL)
	m.Pauses = seen
	require.NoError(t, json.Unmarshal([]byte(advised("-o", "json")), &doc))
	require.LessOrEqual(t, doc.Advice.Hold.Took, longest(m.Holds))

	const pause = 40 * time.Second
	m.Span += 2 * pause
	m.Pauses.Count++
	m.Pauses.Buckets = append(m.Pauses.Buckets, engine.Bucket{Most: pause, Count: 1})
	m.Pauses.Longest = append(m.Pauses.Longest, engine.Moment{At: m.Span - pause, Took: pause})
	require.NoError(t, json.Unmarshal([]byte(advised("-o", "json")), &doc))
	require.Equal(t, 50*time.Second, doc.Advice.Config.TTL, "what was seen is survived")
	text := advised()
	require.Contains(t, text, "First set MaxTTL 50s (now 30s) in every process that uses these masters.")
	require.Contains(t, flat(text), "lockbench run --masters "+strings.Join(m.Masters, ","))
	require.Contains(t, flat(text), "--hold file:")
}

func TestAdviseRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	foreign, damaged := write("foreign", `{"hello":1}`), write("damaged", `{"schema_version":3,"res`)
	newer := write("newer", `{"schema_version":99,"tool":{"name":"lockbench"},"config":{},"results":[]}`)
	grouped := write("grouped", `{"version":1,"span_ns":5,"masters":["a:1","b:1"],"groups":2}`)
	still := write("still", `{"version":1,"span_ns":60000000000,"masters":["a:1"],"acquires":{"count":200,"buckets":[{"most_ns":1000000,"count":200}]}}`)
	swept := write("swept", `{"schema_version":3,"tool":{"name":"lockbench"},"config":{},"results":[],"sweep":{}}`)
	lines, off := write("holds", "12ms # a\n8\n"), write("off", `{"version":0,"masters":null}`)
	requireRefused(t, map[string]string{
		"advise --hold file:" + lines:                    "line 2: ",
		"advise --hold file:" + write("zeros", "0s\n0s"): "--hold must be above 0",
		"advise":                                    "give --hold, or ",
		"advise --local 3":                          "give --hold, or ",
		"advise --from " + still:                    "give --hold, or ",
		"advise " + swept:                           swept + ": is of a sweep, and advice needs a run at one setting",
		"report " + damaged:                         damaged + " is cut off",
		"advise --eps 0":                            "unknown flag: --eps",
		"advise --rto 0s":                           "--rto",
		"advise --rto 48h":                          "--rto",
		"advise --hold 0s":                          "--hold",
		"advise --pause -1s":                        "--pause",
		"advise --hold 2h":                          "--hold",
		"advise --hold soon":                        "--hold",
		"advise --waiters 2":                        "unknown flag: --waiters",
		"advise --hold 1ms --duration 1ms":          "--duration",
		"advise --hold 1ms --local 0":               "--local",
		"advise --hold 1ms --local 3 --masters a:1": "--local",
		"advise --hold 1ms -o bench":                "-o",
		"advise " + dir + "/missing":                "missing",
		"advise " + foreign:                         foreign,
		"advise " + damaged:                         damaged,
		"advise " + newer:                           newer,
		"advise " + foreign + " --local 3":          "--local measures anew",
		"advise " + foreign + " " + foreign:         "arg",
		"advise --from " + dir + "/missing":         dir + "/missing: no such file",
		"advise --from " + dir:                      "directory",
		"advise --from=":                            "the name of the file to size from is empty",
		"advise --from " + newer:                    newer + ": is of version 0, and not 1: not what engine.Engine.Measured returns",
		"advise --from " + grouped:                  grouped + ": is of several groups",
		"advise --from " + off:                      "Config.Measure",
		"advise --from " + off + " " + off:          "give one of them",
		"advise --from " + off + " --duration 5s":   "--duration measures anew",
	})
	_, stderr, code := lockbench(t, "advise", "")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "the name of the file to size from is empty", "no load is made of a variable that is not set")
}
