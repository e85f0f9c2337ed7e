package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/engine"
)

// light is what an advice can rest on: 1000 locks that were held for 20 ms, and masters that were probed.
func light(impl string, cfg bench.Config) *bench.Result {
	const n = 1000
	r := steady(impl, cfg)
	acquires, holds := bench.NewHistogram(), bench.NewHistogram()
	acquires.Record(int64(time.Millisecond), n)
	holds.Record(int64(20*time.Millisecond), n)
	r.Totals.Offered, r.Totals.Acquired, r.DurationS, r.Masters = n, n, 20, 3
	r.Latency[bench.ValidityUsedTime], r.Latency[bench.HoldTime] = acquires.Summary(), holds.Summary()
	r.Client.Stall, r.Probe = &bench.Summary{Peaks: &bench.Peaks{}}, &bench.Probe{}
	for i := range n {
		r.Probe.Rows = append(r.Probe.Rows, []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond})
		r.Probe.AtNs = append(r.Probe.AtNs, int64(i)*20e6)
	}
	return r
}

func TestAdviceOfARunFollowsFromItsFile(t *testing.T) {
	t.Parallel()
	file := keep(t, light, "run --local 3 --workers 32 --hold 20ms")

	stdout, stderr, code := within(t, nil, "advise", file, "--rto", "10s")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "Measured: muxlock on 3 masters, for 20s.\n  TTL               7s  --rto 10s allows ")
	_, last, found := strings.Cut(stdout, "  lockbench run --local 3 --ttl 7s")
	require.True(t, found, stdout)
	require.Contains(t, flat(strings.ReplaceAll(last, "\\\n", "")), "--hold file:"+file+" --slo 'lost_validity_rate<=1%'")
	require.True(t, strings.HasSuffix(last, "\n"))

	stdout, stderr, code = within(t, nil, "advise", file, "--hold", "1m", "--rto", "20ms")
	require.Equal(t, exitMissed, code, stderr)
	require.Contains(t, stdout, "\nTOO SHORT: ")
	require.Regexp(t, `^lockbench: missed: --rto 20ms allows a TTL of 0s at most, and \S+ is needed: --rto \S+ allows that\n$`, stderr)

	doc, _ := made(t, nil, "advise "+file+" --hold 20ms")
	require.Len(t, doc.Results, 1)
	require.Equal(t, 3, doc.Advice.Masters)
	require.Equal(t, 10*time.Second, doc.Advice.Config.TTL)
	require.Equal(t, "20ms", doc.Advice.Ask.Hold.String())
}

// Package plan tries what the line says.
func TestTheLastLineOfAnAdviceRunsAndCanFail(t *testing.T) {
	t.Parallel()
	file := keep(t, light, "run --local 3 --workers 32 --hold 20ms")
	for _, hold := range []string{"", "exp:2ms", "1h"} {
		args := []string{"advise", file}
		if hold != "" {
			args = append(args, "--hold", hold)
		}
		stdout, stderr, code := within(t, nil, args...)
		require.Zero(t, code, stderr)
		line := strings.NewReplacer("\\\n", "", "'", "").Replace(stdout[strings.Index(stdout, "  lockbench run"):])
		for _, lost := range []int64{0, 50} {
			_, stderr, code = within(t, loads(func(impl string, cfg bench.Config) *bench.Result {
				r := light(impl, cfg)
				r.Totals.Outlived, r.Totals.LostValidity, r.Holding = lost, lost, &bench.Holding{Wanted: 1000, Held: 1000, Lost: lost}
				return r
			}).open, strings.Fields(line)[1:]...)
			require.Equal(t, lost > 0, code == exitMissed, "%s: %s", line, stderr)
			require.Equal(t, lost == 0, code == exitOK, "%s: %s", line, stderr)
		}
		require.Contains(t, stderr, "lost_validity_rate<=1%")
	}
}

func TestAdviceOfLiveMasters(t *testing.T) {
	t.Parallel()
	const line = "advise --local 3 --duration 3s --hold exp:10ms --rto 10m"
	doc, stderr := made(t, light, line)
	require.Equal(t, "advise: a light load on 3 masters for 4s\n", stderr[:strings.Index(stderr, "\n")+1])
	require.Equal(t, "advise", doc.Config.Command)
	require.Equal(t, 30*time.Second, doc.Advice.Config.TTL, "up to MaxTTL")
	require.EqualValues(t, 1000, doc.Advice.Outage.N, "probes")
	for want, c := range map[string]struct {
		code int
		bad  func(*bench.Result)
	}{
		"not valid: muxlock round 1: rate not met":                   {exitNotValid, func(r *bench.Result) { r.Invalidate(bench.ReasonRate, "") }},
		"SAFETY VIOLATION: muxlock let 2 holders overlap":            {exitUnsafe, func(r *bench.Result) { r.Safety.Overlaps = 2 }},
		"no result in which muxlock acquired anything: measure one,": {exitNotValid, func(r *bench.Result) { r.Totals.Acquired = 0 }},
	} {
		stdout, stderr, code := within(t, with(c.bad).open, words(line)...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, want)
		require.Empty(t, stdout)
	}
}

func TestAnAdviceOnTooLittleSaysWhatToMeasure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nothing := filepath.Join(dir, "nothing")
	require.NoError(t, os.WriteFile(nothing, []byte(`{"schema_version":3,"tool":{"name":"lockbench"},"config":{},"results":[]}`), 0o600))
	for want, args := range map[string]string{
		"no result in which muxlock acquired anything": nothing,
		"embedded masters: the speed means nothing":    keep(t, light, "run --embedded 3"),
	} {
		stdout, stderr, code := within(t, nil, words("advise "+args)...)
		require.Equal(t, exitNotValid, code, stderr)
		require.Contains(t, stderr, want)
		require.Empty(t, stdout)
	}
}

func TestAdviceRestsOnWhatAProcessOfTheUsersMeasured(t *testing.T) {
	t.Parallel()
	m := engine.Measurements{
		Version: 1, Span: time.Minute, Masters: []string{"a:1", "b:1", "c:1"}, MaxTTL: 30 * time.Second,
		Acquires: engine.Durations{Count: 1000, Buckets: []engine.Bucket{{Most: time.Millisecond, Count: 1000}}},
		Holds:    engine.Durations{Count: 1000, Buckets: []engine.Bucket{{Most: 2 * time.Millisecond, Count: 1000}}},
	}
	const pause = 40 * time.Second
	m.Pauses = engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: pause, Count: 1}}, Longest: []engine.Moment{{At: time.Second, Took: pause}}}
	file := filepath.Join(t.TempDir(), "process.json")
	content, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, content, 0o600))
	doc, _ := made(t, nil, "advise --rto 10m --from "+file)
	require.Equal(t, m.Masters, doc.Config.Masters)
	require.Empty(t, doc.Results)
	require.Equal(t, 2*time.Millisecond, doc.Advice.Hold.Took)
	require.Equal(t, 50*time.Second, doc.Advice.Config.TTL, "what was seen is survived")
	text, stderr, code := within(t, nil, "advise", "--rto", "10m", "--from", file)
	require.Zero(t, code, stderr)
	require.Contains(t, text, "First set MaxTTL 50s (now 30s) in every process that uses these masters.")
	require.Contains(t, flat(text), "lockbench run --masters a:1,b:1,c:1")
	require.Contains(t, flat(text), "--hold file:")
}

func TestAdviseRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	foreign := write("foreign", `{"hello":1}`)
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
		"advise " + swept:                           swept + ": is of a sweep, and advice needs a run at one setting",
		"advise --eps 0":                            "unknown flag: --eps",
		"advise --from " + still:                    "give --hold, or ",
		"advise --rto 48h":                          "--rto",
		"advise --rto 0s":                           "--rto",
		"advise --hold 0s":                          "--hold",
		"advise --pause -1s":                        "--pause",
		"advise --hold 2h":                          "--hold",
		"advise --hold 1ms --duration 1ms":          "--duration",
		"advise --hold 1ms --local 0":               "--local",
		"advise --hold 1ms --local 3 --masters a:1": "--local",
		"advise --hold 1ms -o bench":                "-o",
		"advise " + foreign:                         foreign,
		"advise " + foreign + " --local 3":          "--local measures anew",
		"advise " + foreign + " " + foreign:         "arg",
		"advise --from " + dir + "/missing":         dir + "/missing: no such file",
		"advise --from=":                            "the name of the file to size from is empty",
		"advise --from " + newer:                    newer + ": is of version 0, and not 1: not what engine.Engine.Measured returns",
		"advise --from " + grouped:                  grouped + ": is of several groups",
		"advise --from " + off + " " + off:          "give one of them",
		"advise --from " + off + " --duration 5s":   "--duration measures anew",
	})
	_, stderr, code := within(t, nil, "advise", "")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "the name of the file to size from is empty", "no load is made of a variable that is not set")
}
