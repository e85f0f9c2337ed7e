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

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/engine"
)

// worked is what an engine measured of some work.
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

// adviceOf is what advise --from says of a file with those measurements.
func adviceOf(t *testing.T, m engine.Measurements, args ...string) (file string, doc result.Document) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "process.json")
	text, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	stdout, stderr, code := lockbench(t, append([]string{"advise", "--from", file, "-o", "json"}, args...)...)
	require.Zero(t, code, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stdout)
	return file, doc
}

func TestAdviceRestsOnWhatAProcessOfTheUsersMeasured(t *testing.T) {
	t.Parallel()
	m := worked(t)
	require.EqualValues(t, 8*150, m.Acquires.Count+m.HandOvers.Count)
	require.Positive(t, m.HandOvers.Count)
	require.EqualValues(t, 8*150, m.Holds.Count)
	longest := func(d engine.Durations) (most time.Duration) {
		for _, one := range d.Longest {
			most = max(most, one.Took)
		}
		return most
	}
	const rto = 10 * time.Minute // on however busy a machine
	file, doc := adviceOf(t, m, "--rto", rto.String())
	a := doc.Advice
	require.Equal(t, 3, a.Masters)
	seen := longest(m.Holds) + max(longest(m.Pauses), a.Ask.Budgets.Longest())
	require.Greater(t, a.TTL.Min, int64(seen), "what was seen is survived")
	require.Less(t, a.TTL.Min, int64(20*(seen+a.Config.MasterTimeout)))
	require.False(t, a.TTL.Empty)
	require.Greater(t, int64(a.Config.TTL), a.TTL.Min)
	require.Less(t, a.Config.TTL, rto)
	require.Equal(t, m.Masters, doc.Config.Masters)
	require.Empty(t, doc.Results)

	const pause = 30 * time.Second
	m.Pauses.Count++
	m.Pauses.Buckets = append(m.Pauses.Buckets, engine.Bucket{Most: pause, Count: 1})
	m.Pauses.Longest = append(m.Pauses.Longest, engine.Moment{At: m.Span, Took: pause})
	_, doc = adviceOf(t, m, "--rto", rto.String())
	require.Greater(t, doc.Advice.TTL.Min, a.TTL.Min)
	require.Greater(t, doc.Advice.TTL.Min, int64(pause))

	page := filepath.Join(t.TempDir(), "advice.html")
	stdout, stderr, code := lockbench(t, "advise", "--from", file, "--rto", "2m", "--hold", "20ms", "--html", page)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "muxlock on 3 masters")
	require.Contains(t, flat(stdout), "asked for: 20ms")
	require.Contains(t, flat(stdout), "the masters were not probed")
	require.Contains(t, flat(stdout), "the process had measured for")
	require.Contains(t, stdout, "engine.Config{")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, flat(string(text)), "--from "+file)
	require.NotContains(t, string(text), "GOMAXPROCS", "where advise ran is not where the process did")
}

func TestAdviceRefusesBadMeasurementsOfAProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	none := write("none", `{"version":1,"begin":"2026-11-22T15:00:00Z","span_ns":5000000000,"masters":["a:1","b:1","c:1"]}`)
	foreign, off := write("foreign", `{"schema_version":2,"tool":{"name":"lockbench"},"config":{},"results":[]}`), write("off", `{"version":0,"masters":null}`)
	for line, want := range map[string]string{
		"advise --from " + dir + "/missing":           "--from: " + dir + "/missing: no such file",
		"advise --from " + dir:                        "directory",
		"advise --from=":                              "--from: : no such file",
		"advise --from " + none:                       none + ": nothing to size from: nothing was acquired",
		"advise --from " + foreign:                    foreign + ": is not what engine.Engine.Measured returns",
		"advise --from " + off:                        "Config.Measure",
		"advise --from " + none + " " + none:          "give one of them",
		"advise --from " + none + " --local 3":        "--local measures anew",
		"advise --from " + none + " --duration 5s":    "--duration measures anew",
		"advise --from " + none + " --eps 2":          "--eps",
		"advise --from " + none + " --out /no/such/f": "nothing was acquired",
	} {
		stdout, stderr, code := lockbench(t, strings.Fields(line)...)
		require.Equal(t, exitUsage, code, "%s: %s", line, stderr)
		require.Contains(t, stderr, want, line)
		require.Empty(t, stdout, line)
	}
}
