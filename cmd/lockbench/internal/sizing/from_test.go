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
	return &bench.Result{Impl: "muxlock", Round: 1, Masters: 2, DurationS: 60, Totals: bench.Totals{Acquired: 1}, Latency: bench.Latencies{Acquire: summary(ms)},
		Client: bench.Client{Stall: &bench.Summary{Peaks: &bench.Peaks{}}}}
}

func TestResultsAreMergedOneAfterTheOther(t *testing.T) {
	cut := bench.NewHistogram()
	cut.Record(int64(2*ms), 1)
	cut.RecordAtLeast(int64(9*ms), 3)
	a, b, other, idle := result(), result(), result(), result()
	a.Latency = bench.Latencies{Acquire: summary(time.Hour), ValidityUsed: summary(ms, 3*ms), Release: summary(4 * ms), Hold: cut.Summary()}
	a.Client.Stall = &bench.Summary{Max: int64(70 * ms), Peaks: &bench.Peaks{All: []bench.Peak{{AtNs: 5, Ns: 1}, {AtNs: 7, Ns: 8}}}}
	a.Probe = &bench.Probe{Rows: [][]int64{{1, 2}, {3, 4, 5}, {6, -1}, {7, 8}}, AtNs: []int64{10, 20, 30}, Slow: []bench.Peak{{AtNs: 11, Ns: 12}}}
	a.PerMaster = []bench.Master{{Clock: &bench.Clock{PPM: 1}}}
	b.Latency = bench.Latencies{Acquire: summary(5 * ms), Release: &bench.Summary{HDR: "not read, since it has none"}}
	b.Client.Stall = &bench.Summary{Max: int64(80 * ms)}
	b.Probe = &bench.Probe{Rows: [][]int64{{9, 9}}, AtNs: []int64{40}, Slow: []bench.Peak{{AtNs: 13, Ns: -14}}}
	b.PerMaster = []bench.Master{{Clock: &bench.Clock{PPM: 2}}, {}, {Clock: &bench.Clock{PPM: 3}}}
	other.Impl, other.Masters = "another", 5
	idle.Totals.Acquired, idle.Masters = 0, 5

	m, err := FromResults(bench.Config{Procs: 3}, 1, []*bench.Result{other, a, idle, b})
	require.NoError(t, err)
	require.Equal(t, Measured{
		Masters: 2, Procs: 3, Watched: 2 * time.Minute,
		Acquires: once(ms, 3*ms, 5*ms), Releases: once(4 * ms), Holds: Count([]time.Duration{once(2 * ms).Longest()}, nil, 3),
		Pauses: []Moment{{5, 1}, {7, 8}, {time.Minute, 80 * ms}},
		Rounds: []Round{{10, []time.Duration{1, 2}}, {30, []time.Duration{6, -1}}, {time.Minute + 40, []time.Duration{9, 9}}},
		Slow:   []Moment{{11, 12}, {time.Minute + 13, -14}},
		Clocks: []bench.Clock{{PPM: 1}, {PPM: 2}, {PPM: 3}},
	}, m, "rows of other masters or without their time do not count")

	releases, err := timesOf([]*bench.Result{b, a}, func(r *bench.Result) *bench.Summary { return r.Latency.Release })
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
	most, _ := stolen(m.Pauses, 10*ms)
	require.Equal(t, 60*ms+3, most)
	require.Equal(t, 60*ms, m.paused(Moment{time.Second, 60 * ms}))
	require.Equal(t, []Moment{{time.Second, 140*ms - 3}}, m.outages(LeastTimeout), "it took most of its time from the masters")
}

func TestResultsThatSayNothingAreRefused(t *testing.T) {
	other, unknown, away, damaged, cut := result(), result(), result(), result(), result()
	other.Impl = "another"
	unknown.Masters = 0
	for i := range 60 {
		away.Series = append(away.Series, bench.Point{TS: float64(i + 1), Acquired: int64(1000 * (1 - i/30))})
	}
	cut.Client.Stall = nil // else "the longest seen was 0s"
	damaged.Latency.Acquire = &bench.Summary{Count: 1, HDR: "?"}
	for text, r := range map[string]*bench.Result{
		"no result in which muxlock acquired anything": other, "does not have how many masters": unknown,
		"nothing was acquired from 30 s to 60 s of round 1": away, "does not have the stalls": cut,
	} {
		_, err := FromResults(bench.Config{}, 0, []*bench.Result{r})
		require.ErrorIs(t, err, ErrTooLittle)
		require.ErrorContains(t, err, text)
	}
	_, err := FromResults(bench.Config{}, 0, []*bench.Result{damaged})
	require.ErrorContains(t, err, "histogram")
}

func TestDoubtsAboutAResultAreSaid(t *testing.T) {
	r := result()
	require.Empty(t, against(r))
	r.Safety = bench.Safety{Overlaps: 1}
	require.Equal(t, []string{"round 1: 1 holders overlapped or had a fence that did not grow: mend that first"}, against(r))
	r.Safety = bench.Safety{Overlaps: 2, FenceViolations: 1}
	r.Valid.Reasons = []bench.Reason{{Kind: "why"}}
	r.PerMaster = []bench.Master{{Addr: "well"}, {Addr: "a", Lost: 1}, {Addr: "b", Down: 0.9}}
	m, err := FromResults(bench.Config{}, 3, []*bench.Result{r})
	require.NoError(t, err)
	require.Equal(t, []string{
		"round 1: 3 holders overlapped or had a fence that did not grow: mend that first", "round 1: not valid: why",
		"round 1: master a did not answer 1 probes and was down for 0% of the time", "round 1: master b did not answer 0 probes and was down for 90% of the time",
	}, m.Warnings)
}

// process has acquires in two buckets, of which the longest are known one by one.
func process() engine.Measurements {
	return engine.Measurements{
		Version: 1, Span: time.Minute, Masters: []string{"a", "b", "c"}, Fencing: true,
		Acquires: engine.Durations{Count: 7,
			Buckets: []engine.Bucket{{Most: 0, Count: 1}, {Most: 10, Count: 2}, {Most: 20, Count: 4}},
			Longest: []engine.Moment{{At: 1, Took: 20}, {At: 2, Took: 11}, {At: 3, Took: 10}}},
		Holds:  engine.Durations{Count: 2, Buckets: []engine.Bucket{{Most: 30, Count: 2}}},
		Pauses: engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 8, Count: 1}}, Longest: []engine.Moment{{At: 5, Took: 7}}},
	}
}

func TestProcessHasItsLongestTimesAndTheOthersAsTheirBuckets(t *testing.T) {
	p := process()
	m, err := FromProcess(p)
	require.NoError(t, err)
	require.Len(t, m.Warnings, 1)
	m.Warnings = nil
	require.Equal(t, Measured{
		Masters: 3, Fencing: true, Procs: 1, Watched: time.Minute, Pauses: []Moment{{5, 7}},
		Acquires: Count([]time.Duration{0, 10, 11, 20}, []int64{1, 2, 1, 3}, 0), HandOvers: Count(nil, nil, 0),
		Holds: Count([]time.Duration{30}, []int64{2}, 5), // five of seven are not released
	}, m)
	p.HandOvers = engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: 300, Count: 1}}}
	m, err = FromProcess(p)
	require.NoError(t, err)
	require.True(t, m.Shared)
	require.Equal(t, Count([]time.Duration{300}, nil, 0), m.HandOvers)
}

// A hold that a pause made longer is as long as the work in it, since Size adds pauses to it.
func TestHoldsOfAProcessAreWithoutTheirPauses(t *testing.T) {
	const bucket = 5368709119 // the smallest with 5.05 s
	p := process()
	p.Pauses = engine.Durations{Count: 1, Buckets: []engine.Bucket{{Most: bucket, Count: 1}}, Longest: []engine.Moment{{At: 20 * time.Second, Took: 5 * time.Second}}}
	held := func(at, took time.Duration) engine.Durations {
		return engine.Durations{Count: 201, Buckets: []engine.Bucket{{Most: 40 * ms, Count: 200}, {Most: bucket, Count: 1}}, Longest: []engine.Moment{{At: at, Took: took}}}
	}
	p.Holds = held(25030*ms, 5050*ms)
	m, err := FromProcess(p)
	require.NoError(t, err)
	require.Equal(t, Count([]time.Duration{40 * ms, 50 * ms}, []int64{200, 1}, 0), m.Holds)
	s := Size(m, Ask{Eps: 1e-6, RTO: time.Minute})
	require.InDelta(t, float64(s.Acquire.Took+50*ms+2*5*time.Second), float64(usable(s.Least)), float64(time.Microsecond), "the pause counts twice, not three times")
	p.Holds = held(40*time.Second, 5050*ms)
	m, err = FromProcess(p)
	require.NoError(t, err)
	require.Equal(t, 5050*ms, m.Holds.Longest(), "there was no pause in it")

	p.HandOvers = held(24*time.Second, 4500*ms)
	m, err = FromProcess(p)
	require.NoError(t, err)
	require.Equal(t, 500*ms, m.HandOvers.Longest())
}

// Some jobs last for longer than the process was measured, or for its whole life.
func TestLocksOfAProcessThatAreNotReleasedMayBeHeldForLongerThanAllOthers(t *testing.T) {
	times := func(n int64) engine.Durations {
		return engine.Durations{Count: n, Buckets: []engine.Bucket{{Most: ms, Count: n}}}
	}
	p := process()
	p.Acquires, p.HandOvers, p.Holds = times(900), times(120), times(1000)
	advised := func() Sizes {
		m, err := FromProcess(p)
		require.NoError(t, err)
		return Size(m, Ask{Eps: 1e-6, RTO: time.Minute})
	}
	s := advised()
	require.Empty(t, s.Lacks)
	require.Equal(t, ms, s.Hold.Took)
	require.InDelta(t, 20.0/1020, s.LostHold, 0.01)
	require.GreaterOrEqual(t, s.LostHold, 20.0/1020)
	p.Holds = times(1020)
	require.InEpsilon(t, 3.0/1020, advised().LostHold, 0.01, "all are released")
	p.Holds = times(0)
	require.Equal(t, Assumed, advised().Hold.From, "none is")
}

// After some hours the longest pauses are kept one by one, and all others counted.
func TestPausesThatAreNotAmongTheLongestCountAsTwiceTheirShareOfTheTime(t *testing.T) {
	p := process()
	p.Span = time.Hour
	p.Pauses = engine.Durations{Count: 300_091, LongestFrom: 50 * ms,
		Buckets: []engine.Bucket{{Most: ms / 2, Count: 300_000}, {Most: 40 * ms, Count: 90}, {Most: 60 * ms, Count: 1}},
		Longest: []engine.Moment{{At: time.Second, Took: 60 * ms}}}
	m, err := FromProcess(p)
	require.NoError(t, err)
	require.Equal(t, 90*40*ms, m.Short, "3.6 s, a thousandth of the hour")
	require.Equal(t, 2*60*ms+2*20*ms, m.pause(20*time.Second, Ask{}).Took)
	require.Equal(t, 60*ms, m.pause(20*time.Second, Ask{}).Longest)
	p.Pauses.LongestFrom = ms
	m, err = FromProcess(p)
	require.NoError(t, err)
	require.Zero(t, m.Short, "all are kept one by one")

	r := result()
	h := bench.NewHistogram()
	h.Record(int64(ms/2), 1000)
	h.Record(int64(4*ms), 3000)
	h.Record(int64(9*ms), 5)
	r.Client.Stall = h.Summary()
	r.Client.Stall.Peaks = &bench.Peaks{FromNs: int64(8 * ms), All: []bench.Peak{{AtNs: 7, Ns: int64(9 * ms)}}}
	m, err = FromResults(bench.Config{}, 3, []*bench.Result{r, r})
	require.NoError(t, err)
	require.InEpsilon(t, 2*3000*4*ms, m.Short, 0.01)
	require.InEpsilon(t, 2*9*ms+2*10*ms/5, m.pause(10*ms, Ask{}).Took, 0.01, "a fifth of the time")
}

func TestProcessThatIsDamagedIsRefused(t *testing.T) {
	for text, change := range map[string]func(*engine.Measurements){
		"acquires have buckets out of order":                  func(p *engine.Measurements) { p.Acquires.Buckets[1].Most = 0 },
		"holds have a count of 3, and 2":                      func(p *engine.Measurements) { p.Holds.Count = 3 },
		"pauses have buckets out of order, or with a wrong c": func(p *engine.Measurements) { p.Pauses.Buckets[0].Count = 0 },
		"hand-overs have a count of 1, and 0":                 func(p *engine.Measurements) { p.HandOvers.Count = 1 },
		"nothing was acquired":                                func(p *engine.Measurements) { p.Acquires = engine.Durations{} },
	} {
		p := process()
		change(&p)
		_, err := FromProcess(p)
		require.ErrorContains(t, err, text)
	}
}

func TestFileOfAProcessIsReadIfItIsOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	_, err := ReadProcess(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, change := range map[string]func(*engine.Measurements){
		"":                                  func(*engine.Measurements) {},
		"its engine had no Config.Measure":  func(p *engine.Measurements) { p.Version = 0 },
		"a newer engine: version 2":         func(p *engine.Measurements) { p.Version = 2 },
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
		read, err := ReadProcess(name)
		if text == "" {
			require.NoError(t, err)
			require.Equal(t, p, read)
		} else {
			require.ErrorContains(t, err, text)
		}
	}
}
