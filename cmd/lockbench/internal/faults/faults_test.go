package faults_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
)

const duration = 30 * time.Second

// run is what Parse knows of the run of these tests.
var run = faults.Run{Masters: 5, Clients: 3, Duration: duration}

func parse(t *testing.T, texts ...string) (list []faults.Fault) {
	t.Helper()
	for _, text := range texts {
		f, err := faults.Parse(text, run)
		require.NoError(t, err)
		require.Equal(t, text, f.Text)
		list = append(list, f)
	}
	return list
}

func TestParseReadsEveryKind(t *testing.T) {
	at := func(kind faults.Kind, from, to time.Duration) faults.Fault {
		return faults.Fault{Kind: kind, Master: 1, From: from, To: to}
	}
	whole := func(kind faults.Kind) faults.Fault {
		return faults.Fault{Kind: kind, Master: 1, Whole: true, From: -time.Second, To: math.MaxInt64}
	}
	read := map[faults.Kind]bool{}
	for text, want := range map[string]faults.Fault{
		"delay:2:50ms":                     whole(faults.Delay),
		"delay:2:lognormal(5ms,1)@10s-20s": at(faults.Delay, 10*time.Second, 20*time.Second),
		"stop:2":                           whole(faults.Stop),
		"stop:2@0s-30s":                    at(faults.Stop, 0, duration),
		"kill:2":                           whole(faults.Kill),
		"kill:2@1.5s-2s":                   at(faults.Kill, 1500*time.Millisecond, 2*time.Second),
		"restart:2@2s":                     at(faults.Restart, 2*time.Second, 2*time.Second),
		"flush:2@100ms":                    at(faults.Flush, 100*time.Millisecond, 100*time.Millisecond),
		"full:2":                           whole(faults.Full),
		"deny:2@1s-2s":                     at(faults.Deny, time.Second, 2*time.Second),
		"cut:2@1s":                         at(faults.Cut, time.Second, time.Second),
		"replica:2@1s-2s":                  at(faults.Replica, time.Second, 2*time.Second),
		"rollback:2@1s-2s":                 at(faults.Rollback, time.Second, 2*time.Second),
		"blackhole:2:3@1s-2s":              {Kind: faults.Blackhole, Master: 1, Client: 2, From: time.Second, To: 2 * time.Second},
		"pause:3@1s-2s":                    {Kind: faults.Pause, Master: -1, Client: 2, From: time.Second, To: 2 * time.Second},
		"crash:3@1s":                       {Kind: faults.Crash, Master: -1, Client: 2, From: time.Second, To: time.Second},
	} {
		got := parse(t, text)[0]
		read[got.Kind] = true
		got.Text, got.Delay = "", bench.Span{}
		require.Equal(t, want, got, text)
	}
	require.Len(t, read, len(faults.Kinds))
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "must be",
		"burn:1":                   "must be",
		"stop":                     "must be",
		"stop:1:2":                 "must be",
		"delay:1":                  "must be",
		"stop:0":                   "not in 1..5",
		"stop:6":                   "not in 1..5",
		"stop:x":                   "not in 1..5",
		"delay:1:soon":             "soon",
		"delay:1:-5ms":             "negative",
		"delay:1:lognormal(5ms)":   "SIGMA",
		"delay:1:lognormal(5ms,9)": "SIGMA",
		"delay:1:exp(5ms":          "exp(5ms",
		"stop:1@":                  "not a time",
		"stop:1@soon":              "not a time",
		"stop:1@1s-late":           "not a time",
		"stop:1@2s":                "needs an end",
		"delay:1:5ms@2s":           "needs an end",
		"stop:1@2s-2s":             "after its start",
		"stop:1@3s-2s":             "after its start",
		"kill:1@20s-31s":           "within the measured time",
		"restart:1@30s":            "within the measured time",
		"restart:1@-1s":            "not a time",
		"restart:1@1s-2s":          "over at once",
		"flush:1@1s-2s":            "over at once",
		"restart:1":                "needs a time",
		"flush:1":                  "needs a time",
		"pause:1":                  "needs a time",
		"rollback:1":               "needs a time",
		"pause:4@1s-2s":            "process \"4\" is not in 1..3",
		"blackhole:1@1s-2s":        "must be",
		"blackhole:1:0@1s-2s":      "process \"0\" is not in 1..3",
		"blackhole:6:1@1s-2s":      "not in 1..5",
	} {
		_, err := faults.Parse(text, run)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, text)
	}
	_, err := faults.Parse("crash:1@1s", faults.Run{Masters: 1, Duration: duration})
	require.ErrorContains(t, err, "--procs")
	_, err = faults.Parse("replica:1@1s-2s", faults.Run{Masters: 1, Duration: duration})
	require.ErrorContains(t, err, "another master")
}

func TestCheckRefusesWhatContradicts(t *testing.T) {
	for _, list := range [][]string{
		{"stop:1@2s-5s", "kill:1@4s-6s"},
		{"kill:1@2s-5s", "stop:1@3s-4s"},
		{"stop:1", "restart:1@2s"},
		{"stop:1@1s-2s", "flush:1@1s"},
		{"restart:1@1s", "flush:1@1s"},
		{"stop:1", "stop:1"},
		{"rollback:1@1s-3s", "full:1@2s-4s"},
		{"pause:1@1s-3s", "crash:1@2s"},
	} {
		err := faults.Check(parse(t, list...))
		require.ErrorContains(t, err, list[0])
		require.ErrorContains(t, err, list[1])
	}
	for _, list := range [][]string{
		{"stop:1@2s-5s", "kill:2@2s-5s"},
		{"stop:1@2s-5s", "kill:1@5s-6s"},
		{"stop:1@2s-5s", "restart:1@5s"},
		{"delay:1:5ms", "delay:1:exp(5ms)@1s-2s", "stop:1@1s-2s"},
		{"restart:1@1s", "restart:1@2s"},
		{"stop:1@1s-3s", "cut:1@2s", "blackhole:1:1@1s-3s", "pause:1@1s-3s", "pause:2@1s-3s"},
	} {
		require.NoError(t, faults.Check(parse(t, list...)))
	}
}
