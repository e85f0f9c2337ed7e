package sizing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/engine"
	"muxlock/internal/redlock"
)

// summary has the given latencies, once each.
func summary(latencies ...time.Duration) *bench.Summary {
	h := bench.NewHistogram()
	for _, ns := range latencies {
		h.Record(int64(ns), 1)
	}
	return h.Summary()
}

// once has the given times, once each, as exactly as a histogram has them.
func once(times ...time.Duration) Times {
	h, _ := summary(times...).Histogram()
	var took []time.Duration
	for ns := range h.Bars() {
		took = append(took, time.Duration(ns))
	}
	return Count(took, nil, 0)
}

// result is a minute in which muxlock acquired once.
func result() *bench.Result {
	return &bench.Result{Impl: "muxlock", Round: 1, Masters: 2, DurationS: 60, Totals: bench.Totals{Acquired: 1}, Latency: bench.Latencies{bench.AcquireTime: summary(ms)},
		Client: bench.Client{Stall: &bench.Summary{Peaks: &bench.Peaks{}}}}
}

func TestResultsAreMergedOneAfterTheOther(t *testing.T) {
	cut := bench.NewHistogram()
	cut.Record(int64(2*ms), 1)
	cut.RecordAtLeast(int64(9*ms), 3)
	a, b, other, idle := result(), result(), result(), result()
	a.Latency = bench.Latencies{bench.AcquireTime: summary(time.Hour), bench.ValidityUsedTime: summary(ms, 3*ms), bench.ReleaseTime: summary(4 * ms), bench.HoldTime: cut.Summary()}
	a.Client.Stall = &bench.Summary{Max: int64(70 * ms), Peaks: &bench.Peaks{All: []bench.Peak{{AtNs: 5, Ns: 1}, {AtNs: 7, Ns: 8}}}}
	a.Probe = &bench.Probe{Rows: [][]time.Duration{{1, 2}, {3, 4, 5}, {6, -1}, {7, 8}}, AtNs: []int64{10, 20, 30}, Slow: []bench.Peak{{AtNs: 11, Ns: 12}}}
	a.PerMaster = []bench.Master{{Clock: &bench.Clock{PPM: 1}}}
	b.Latency = bench.Latencies{bench.AcquireTime: summary(5 * ms), bench.ReleaseTime: &bench.Summary{HDR: "not read, since it has none"}}
	b.Client.Stall = &bench.Summary{Peaks: &bench.Peaks{All: []bench.Peak{{AtNs: 9, Ns: int64(80 * ms)}}}}
	b.Holding = &bench.Holding{Held: 40}
	b.Probe = &bench.Probe{Rows: [][]time.Duration{{9, 9}}, AtNs: []int64{40}, Slow: []bench.Peak{{AtNs: 13, Ns: -14}}}
	b.PerMaster = []bench.Master{{Clock: &bench.Clock{PPM: 2}}, {}, {Clock: &bench.Clock{PPM: 3}}}
	other.Impl, other.Masters = "another", 5
	idle.Totals.Acquired, idle.Masters = 0, 5

	m, err := FromResults(bench.Config{Procs: 3}, 1, []*bench.Result{other, a, idle, b})
	require.NoError(t, err)
	require.Equal(t, Measured{
		Masters: 2, Watched: 2 * time.Minute,
		Acquires: once(ms, 3*ms, 5*ms), Holds: Count([]time.Duration{once(2 * ms).Longest()}, nil, 3), Renewed: Count(nil, nil, 40),
		Pauses: []Moment{{5, 1}, {7, 8}, {time.Minute + 9, 80 * ms}},
		Rounds: []Round{{At: 10, Trips: []time.Duration{1, 2}}, {At: 30, Trips: []time.Duration{6, -1}}, {At: time.Minute + 40, Trips: []time.Duration{9, 9}}},
		Slow:   []Moment{{11, 12}, {time.Minute + 13, -14}},
		Clocks: []bench.Clock{{PPM: 1}, {PPM: 2}, {PPM: 3}},
	}, m, "rows of other masters or without their time do not count")

	releases, err := timesOf([]*bench.Result{b, a}, func(r *bench.Result) *bench.Summary { return r.Latency[bench.ReleaseTime] })
	require.NoError(t, err)
	require.Equal(t, once(4*ms), releases, "in whichever order")

	var uniform bench.Dist
	require.NoError(t, uniform.UnmarshalText([]byte("uniform")))
	m, err = FromResults(bench.Config{Dist: uniform}, 5, []*bench.Result{a})
	require.NoError(t, err)
	require.True(t, m.Shared)
	require.Equal(t, 5, m.Masters)
}

func TestAStallThatEveryProcessSawIsOne(t *testing.T) {
	r := result()
	r.Client.Stall = &bench.Summary{Peaks: &bench.Peaks{}}
	for i := range int64(4) {
		r.Client.Stall.Peaks.All = append(r.Client.Stall.Peaks.All, bench.Peak{AtNs: int64(time.Second) + i, Ns: int64(60 * ms)})
	}
	r.Probe = &bench.Probe{Slow: []bench.Peak{{AtNs: int64(time.Second), Ns: int64(200 * ms)}}}
	m, err := FromResults(bench.Config{Procs: 4}, 3, []*bench.Result{r})
	require.NoError(t, err)
	require.Equal(t, []Moment{{time.Second, 60*ms + 3}}, m.Pauses)
	require.Equal(t, 60*ms+3, m.stolen(10*ms))
	require.Equal(t, 60*ms, m.paused(Moment{time.Second, 60 * ms}))
	require.Equal(t, []Moment{{time.Second, 250*ms + redlock.RedialWithin(200*ms)}}, m.outages(LeastTimeout), "it took most of its time from the masters")
}

func TestResultsThatSayNothingAreRefused(t *testing.T) {
	other, damaged, cut := result(), result(), result()
	other.Impl = "another"
	cut.Client.Stall = nil // else "the longest seen was 0s"
	damaged.Latency[bench.AcquireTime] = &bench.Summary{Count: 1, HDR: "?"}
	for text, r := range map[string]*bench.Result{
		"no result in which muxlock acquired anything": other, "does not have the stalls": cut,
	} {
		_, err := FromResults(bench.Config{}, 0, []*bench.Result{r})
		require.ErrorIs(t, err, ErrTooLittle)
		require.ErrorContains(t, err, text)
	}
	_, err := FromResults(bench.Config{}, 0, []*bench.Result{damaged})
	require.ErrorContains(t, err, "histogram")
}

func TestDoubtsAboutAResultAreSaid(t *testing.T) {
	of := func(change func(*bench.Result)) Measured {
		r := result()
		change(r)
		m, err := FromResults(bench.Config{}, 3, []*bench.Result{result(), r})
		require.NoError(t, err)
		return m
	}
	m := of(func(*bench.Result) {})
	require.Empty(t, m.Invalid)
	require.Empty(t, m.Notes)
	require.Equal(t, "2 holders overlapped or had a fence that did not grow", of(func(r *bench.Result) { r.Safety = bench.Safety{Overlaps: 1, FenceViolations: 1} }).Invalid)
	require.Equal(t, "why; and why", of(func(r *bench.Result) { r.Valid.Reasons = []bench.Reason{{Kind: "why"}, {Kind: "and why"}} }).Invalid)
	require.Equal(t, []string{
		"master a did not answer some probes", "master b did not answer some probes",
	}, of(func(r *bench.Result) {
		r.PerMaster = []bench.Master{{Addr: "well"}, {Addr: "b", Down: 0.9}, {Addr: "a", Lost: 1}}
	}).Notes)
}

// process has acquires in two buckets, of which the longest are known one by one.
// read returns the measurements of an engine as lockbench reads them.
func read(t *testing.T, m engine.Measurements) (p Process) {
	text, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &p))
	return p
}

func process() engine.Measurements {
	return engine.Measurements{
		Version: 1, Span: time.Minute, Masters: []string{"a", "b", "c"}, Fencing: true, MaxTTL: time.Hour, LongestTTL: time.Minute,
		Acquires: engine.Durations{Count: 7,
			Buckets: []engine.Bucket{{Most: 0, Count: 1}, {Most: 10, Count: 2}, {Most: 20, Count: 4}},
			Longest: []engine.Moment{{At: 1, Took: 20}, {At: 2, Took: 11}, {At: 3, Took: 10}}},
		Holds:        engine.Durations{Count: 2, Buckets: []engine.Bucket{{Most: 30, Count: 2}}},
		RenewedHolds: engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 50, Count: 1}}}, Renewed: 3,
		Pauses: engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 8, Count: 1}}, Longest: []engine.Moment{{At: 5, Took: 7}}},
	}
}

func TestProcessHasItsLongestTimesAndTheOthersAsTheirBuckets(t *testing.T) {
	p := process()
	m, err := FromProcess(read(t, p))
	require.NoError(t, err)
	require.Equal(t, Measured{
		Masters: 3, Fencing: true, MaxTTL: time.Hour, LongestTTL: time.Minute, Watched: time.Minute, Pauses: []Moment{{5, 7}},
		Acquires: Count([]time.Duration{0, 10, 11, 20}, []int64{1, 2, 1, 3}, 0), HandOvers: Count(nil, nil, 0),
		Holds: Count([]time.Duration{30}, []int64{2}, 2), Renewed: Count([]time.Duration{50}, nil, 2), // four of seven are not released
	}, m)
	p.HandOvers = engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 300, Count: 1}}}
	m, err = FromProcess(read(t, p))
	require.NoError(t, err)
	require.True(t, m.Shared)
	require.Equal(t, Count([]time.Duration{300}, nil, 0), m.HandOvers)
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
	m, err := FromProcess(read(t, p))
	require.NoError(t, err)
	require.Equal(t, Count([]time.Duration{40 * ms, 50 * ms}, []int64{200, 1}, 0), m.Holds)
	s := Size(m, Ask{})
	require.Equal(t, RoundUp(s.Acquire+50*ms+5*time.Second+s.Clocks-ms), s.Unkept, "the pause counts once")
	p.Holds = held(40*time.Second, 5050*ms)
	m, err = FromProcess(read(t, p))
	require.NoError(t, err)
	require.Equal(t, 5050*ms, m.Holds.Longest(), "there was no pause in it")

	p.HandOvers = held(24*time.Second, 4500*ms)
	m, err = FromProcess(read(t, p))
	require.NoError(t, err)
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
		m, err := FromProcess(read(t, p))
		require.NoError(t, err)
		s := Size(m, Ask{})
		require.Equal(t, c.open, s.Open, c)
		require.InDelta(t, c.lost, s.Lost, 1, c)
		require.Equal(t, c.lacks, s.Lacks)
		require.Equal(t, c.holds, s.Hold.N)
		require.InDelta(t, float64(c.renewed)/float64(c.holds+c.open+c.renewed), s.Renewed, 1e-9)
		require.Greater(t, s.AtMost, float64(c.open)/float64(c.holds))
	}
}

func TestProcessThatIsDamagedIsRefused(t *testing.T) {
	for text, change := range map[string]func(*engine.Measurements){
		"acquires have buckets out of order": func(p *engine.Measurements) { p.Acquires.Buckets[1].Most = 0 },
		"holds have a count of 3, and 2":     func(p *engine.Measurements) { p.Holds.Count = 3 },
		"renewed holds have buckets out of order, or with a ": func(p *engine.Measurements) {
			p.Holds, p.RenewedHolds = p.RenewedHolds, engine.Durations{Buckets: []engine.Bucket{{Most: 1, Count: -1}}}
		},
		"hand-overs have a count of 1, and 0": func(p *engine.Measurements) { p.HandOvers.Count = 1 },
		"nothing was acquired":                func(p *engine.Measurements) { p.Acquires = engine.Durations{} },
	} {
		p := process()
		change(&p)
		_, err := FromProcess(read(t, p))
		require.ErrorContains(t, err, text)
	}
}

func TestFileOfAProcessIsReadIfItIsOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	_, err := ReadProcess(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, change := range map[string]func(*engine.Measurements){
		"":                                  func(*engine.Measurements) {},
		"without Config.Measure":            func(p *engine.Measurements) { p.Version = 0 },
		"is of version 2, and not 1":        func(p *engine.Measurements) { p.Version = 2 },
		"it has no masters or no span_ns":   func(p *engine.Measurements) { p.Span = 0 },
		"is damaged: it has no masters":     func(p *engine.Measurements) { p.Masters = nil },
		"is not what engine.Engine.Measure": nil,
	} {
		p := process()
		written := []byte("{")
		if change != nil {
			change(&p)
			written, err = json.Marshal(p)
			require.NoError(t, err)
		}
		require.NoError(t, os.WriteFile(name, written, 0o600))
		got, err := ReadProcess(name)
		if text == "" {
			require.NoError(t, err)
			require.Equal(t, read(t, p), got)
		} else {
			require.ErrorContains(t, err, text)
		}
	}
}
