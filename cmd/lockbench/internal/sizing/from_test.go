package sizing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
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
	a.Latency = bench.Latencies{bench.AcquireTime: summary(time.Hour), bench.ValidityUsedTime: summary(ms, 3*ms), bench.HoldTime: cut.Summary()}
	a.Client.Stall = &bench.Summary{Max: int64(70 * ms), Peaks: &bench.Peaks{All: []bench.Peak{{AtNs: 5, Ns: 1}, {AtNs: 7, Ns: 8}}}}
	a.Probe = &bench.Probe{Rows: [][]time.Duration{{1, 2}, {3, 4, 5}, {6, -1}, {7, 8}}, AtNs: []int64{10, 20, 30}, Slow: []bench.Peak{{AtNs: 11, Ns: 12}}}
	a.PerMaster = []bench.Master{{Clock: &bench.Clock{PPM: 1}}}
	b.Latency = bench.Latencies{bench.AcquireTime: summary(5 * ms), bench.ReleaseTime: &bench.Summary{HDR: "not read"}}
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
	require.Equal(t, 60*ms, m.Paused(time.Second, 60*ms))
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
	for end, notes := range map[int64]int{58: 0, 60: 1} {
		require.Len(t, of(func(r *bench.Result) { r.Probe = &bench.Probe{Slow: []bench.Peak{{AtNs: (end - 1) * 1e9, Ns: -1e9}}} }).Notes, notes, "no quorum until then")
	}
	require.Equal(t, []string{
		"master a did not answer some probes", "master b did not answer some probes",
	}, of(func(r *bench.Result) {
		r.PerMaster = []bench.Master{{Addr: "well"}, {Addr: "b", Down: 0.9}, {Addr: "a", Lost: 1}}
	}).Notes)
}
