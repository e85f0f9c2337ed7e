package service

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
)

const ms = time.Millisecond

func measured(t *testing.T, p engine.Measurements) sizing.Measured {
	t.Helper()
	m, err := Measured(p)
	require.NoError(t, err)
	return m
}

// process has acquires in two buckets, of which the longest are known one by one.
func process() engine.Measurements {
	return engine.Measurements{
		Version: 1, Span: time.Minute, Masters: []string{"a", "b", "c"}, Fencing: true, MaxTTL: time.Hour, LongestTTL: time.Minute,
		Acquires: engine.Durations{Count: 7,
			Buckets: []engine.Bucket{{Most: 0, Count: 1}, {Most: 10, Count: 2}, {Most: 20, Count: 4}},
			Longest: []engine.Moment{{At: 1, Took: 20}, {At: 2, Took: 11}, {At: 3, Took: 10}}},
		Holds:        engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 30, Count: 1}}},
		RenewedHolds: engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 50, Count: 1}}}, Renewed: 3,
		Pauses: engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 8, Count: 1}}, Longest: []engine.Moment{{At: 5, Took: 7}}},
	}
}

func TestProcessHasItsLongestTimesAndTheOthersAsTheirBuckets(t *testing.T) {
	p := process()
	m := measured(t, p)
	require.Equal(t, sizing.Measured{
		Masters: 3, Fencing: true, MaxTTL: time.Hour, LongestTTL: time.Minute, Watched: time.Minute, Pauses: []sizing.Moment{{At: 5, Took: 7}},
		Acquires: sizing.Count([]time.Duration{0, 10, 11, 20}, []int64{1, 2, 1, 3}, 0), HandOvers: sizing.Count(nil, nil, 0),
		Holds: sizing.Count([]time.Duration{30}, nil, 3), Renewed: sizing.Count([]time.Duration{50}, nil, 2), // five of seven are not released
	}, m)
	p.Holds, p.HandOvers = engine.Durations{}, engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 300, Count: 1}}}
	m = measured(t, p)
	require.True(t, m.Shared)
	require.Equal(t, sizing.Count([]time.Duration{300}, nil, 0), m.HandOvers)
	require.True(t, m.Holds.Empty(), "a lock that is not released says nothing without others")
}

// A hold that a pause made longer is as long as the work in it, since Size adds pauses to it.
func TestHoldsOfAProcessAreWithoutTheirPauses(t *testing.T) {
	const bucket = 5368709119 // the smallest with 5.05 s
	p := process()
	p.Acquires.Longest, p.RenewedHolds, p.Renewed = nil, engine.Durations{}, 0
	p.Pauses = engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: bucket, Count: 1}}, Longest: []engine.Moment{{At: 20 * time.Second, Took: 5 * time.Second}}}
	held := func(at, took time.Duration) engine.Durations {
		return engine.Durations{Count: 201, Buckets: []engine.Bucket{{Most: 40 * ms, Count: 200}, {Most: bucket, Count: 1}}, Longest: []engine.Moment{{At: at, Took: took}}}
	}
	p.Holds = held(25030*ms, 5050*ms)
	m := measured(t, p)
	require.Equal(t, sizing.Count([]time.Duration{40 * ms, 50 * ms}, []int64{200, 1}, 0), m.Holds)
	s := sizing.Size(m, sizing.Ask{})
	require.Equal(t, sizing.RoundUp(s.Acquire+50*ms+5*time.Second+s.Clocks-ms), s.Unkept, "the pause counts once")
	p.Holds = held(40*time.Second, 5050*ms)
	m = measured(t, p)
	require.Equal(t, 5050*ms, m.Holds.Longest(), "there was no pause in it")

	p.HandOvers = held(24*time.Second, 4500*ms)
	m = measured(t, p)
	require.Equal(t, 500*ms, m.HandOvers.Longest())
}

// Some jobs last for longer than the process was measured, or for its whole life. At any moment some locks are held.
func TestLocksOfAProcessThatAreNotReleasedMayBeHeldForLongerThanAllOthers(t *testing.T) {
	times := func(n int64, most time.Duration) engine.Durations {
		return engine.Durations{Count: n, Buckets: []engine.Bucket{{Most: most, Count: n}}}
	}
	for _, c := range []struct {
		acquires, handOvers, holds, renewed int64
		hold                                time.Duration
		open, lost                          int64
		lacks                               string
	}{
		{900, 120, 1015, 0, ms, 5, 49, ""},
		{900, 120, 1000, 0, ms, 20, 196, "1.95% of the locks were not released when the measurement ended: measure for longer than they are held, or give --hold"},
		{900, 120, 1000, 20, ms, 0, 0, ""}, // they are renewed
		{900, 120, 1020, 0, ms, 0, 0, ""},
		{1000, 0, 960, 0, 1500 * ms, 0, 0, ""}, // 24 are held at a time
		{1010, 0, 960, 0, 1500 * ms, 2, 21, ""},
	} {
		p := process()
		p.Acquires, p.HandOvers, p.Holds, p.RenewedHolds, p.Renewed = times(c.acquires, ms), times(c.handOvers, ms), times(c.holds, c.hold), engine.Durations{}, c.renewed
		s := sizing.Size(measured(t, p), sizing.Ask{})
		require.Equal(t, c.open, s.Open, c)
		require.InDelta(t, c.lost, s.Lost, 1, c)
		require.Equal(t, c.lacks, s.Lacks)
		require.Equal(t, c.holds, s.Hold.N)
		require.InDelta(t, float64(c.renewed)/float64(c.holds+c.open+c.renewed), s.Renewed, 1e-9)
		require.Greater(t, s.AtMost, float64(c.open)/float64(c.holds))
	}
}

func TestFileOfAProcessIsReadIfItIsOneAndUndamaged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	_, err := Read(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	for want, change := range map[string]func(*engine.Measurements){
		"":                                   func(*engine.Measurements) {},
		"is not what engine.Engine.Measured": nil,
		"without Config.Measure":             func(p *engine.Measurements) { p.Version = 0 },
		"is of version 2, and not 1":         func(p *engine.Measurements) { p.Version = 2 },
		"it has no masters or no span_ns":    func(p *engine.Measurements) { p.Span = 0 },
		"is damaged: it has no masters":      func(p *engine.Measurements) { p.Masters = nil },
		"acquires have buckets out of order": func(p *engine.Measurements) { p.Acquires.Buckets[1].Most = 0 },
		"holds have a count of 3, and 1":     func(p *engine.Measurements) { p.Holds.Count = 3 },
		"renewed holds have buckets out of order, or with a ": func(p *engine.Measurements) {
			p.Holds, p.RenewedHolds = p.RenewedHolds, engine.Durations{Buckets: []engine.Bucket{{Most: 1, Count: -1}}}
		},
		"hand-overs have a count of 1, and 0": func(p *engine.Measurements) { p.HandOvers.Count = 1 },
		"nothing was acquired":                func(p *engine.Measurements) { p.Acquires = engine.Durations{} },
	} {
		p, text := process(), []byte("{")
		if change != nil {
			change(&p)
			text, err = json.Marshal(p)
			require.NoError(t, err)
		}
		require.NoError(t, os.WriteFile(name, text, 0o600))
		got, err := Read(name)
		if err == nil {
			require.Equal(t, p, got)
			_, err = Measured(got)
		}
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
