package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
)

const duration = 30 * time.Second

func parse(t *testing.T, texts ...string) (list []faults.Fault) {
	t.Helper()
	for _, text := range texts {
		f, err := faults.Parse(text, 5, duration)
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
		return faults.Fault{Kind: kind, Master: 1, Whole: true, From: -time.Second, To: duration}
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
		"stop:1@2s-2s":             "after its begin",
		"stop:1@3s-2s":             "after its begin",
		"kill:1@20s-31s":           "within the measured time",
		"restart:1@30s":            "within the measured time",
		"restart:1@-1s":            "not a time",
		"restart:1@1s-2s":          "over at once",
		"flush:1@1s-2s":            "over at once",
		"restart:1":                "needs a time",
		"flush:1":                  "needs a time",
	} {
		_, err := faults.Parse(text, 5, duration)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, text)
	}
}

func TestCheckRefusesWhatContradicts(t *testing.T) {
	for _, list := range [][]string{
		{"stop:1@2s-5s", "kill:1@4s-6s"},
		{"kill:1@2s-5s", "stop:1@3s-4s"},
		{"stop:1", "restart:1@2s"},
		{"stop:1@1s-2s", "flush:1@1s"},
		{"restart:1@1s", "flush:1@1s"},
		{"stop:1", "stop:1"},
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
	} {
		require.NoError(t, faults.Check(parse(t, list...)))
	}
}
