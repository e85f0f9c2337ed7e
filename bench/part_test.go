package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// tableOfRun is a file for Place.Table.
func tableOfRun(t *testing.T, cfg Config) *os.File {
	t.Helper()
	if !SharesMemory {
		t.Skip("no shared memory here")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "table"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	require.NoError(t, f.Truncate(TableSize(cfg)))
	return f
}

// inParts runs cfg like several processes. Each has its own mapping of the table and its own clock; they
// share the locker. Parts go through JSON.
func inParts(t *testing.T, l Locker, cfg Config) *Result {
	t.Helper()
	f := tableOfRun(t, cfg)
	parts := make([]*Part, cfg.Procs)
	var ready sync.WaitGroup
	ready.Add(cfg.Procs)
	begin := sync.OnceValue(func() int64 { return Monotonic() + int64(10*time.Millisecond) })
	var g errgroup.Group
	for i := range parts {
		g.Go(func() error {
			part, err := RunPart(t.Context(), "test", l, cfg, Place{Proc: i, Table: f, Begin: func() int64 {
				ready.Done()
				ready.Wait()
				return begin()
			}})
			if err != nil {
				return err
			}
			text, err := json.Marshal(part)
			if err != nil {
				return err
			}
			return json.Unmarshal(text, &parts[i])
		})
	}
	require.NoError(t, g.Wait())
	r := Merge("test", cfg, parts)
	requireJSON(t, r)
	return r
}

func TestPartsSeeOverlapsAndHandoversOfEachOther(t *testing.T) {
	cfg := Config{Workers: 1, Procs: 2, Keys: 1, Dist: Uniform(), KeyPrefix: "k", Duration: time.Second,
		TTL: time.Hour, Hold: Fixed(time.Millisecond), Think: Exp(time.Millisecond)}
	r := inParts(t, newLeases(2, time.Millisecond), cfg)
	require.Positive(t, r.Safety.Overlaps)
	r = inParts(t, newLeases(1, 100*time.Microsecond), cfg)
	require.Zero(t, r.Safety.Overlaps)
	require.Positive(t, r.Latency[RemoteHandoverTime].Count)
	require.Zero(t, r.Latency[HandoverTime].Count, "one worker each")
	require.Len(t, r.Fairness.PerProc, 2)
	require.Equal(t, r.Totals.Acquired, r.Fairness.PerProc[0]+r.Fairness.PerProc[1])
	require.Len(t, r.Series, 1)
	require.Positive(t, r.Latency[UncontendedTime].Count)
	require.Positive(t, r.Client.Stall.Count)
	require.Greater(t, r.Client.CPUShare, 0.0)
	require.Less(t, r.Client.CPUShare, 1.01)
	require.Less(t, r.Latency[RemoteHandoverTime].P["50"], 100*ms, "the clocks agree")
}

// A killed process leaves no part. What its audit and its history found is in the table.
func TestAProcessThatTakesAPlaceGoesOnWithWhatTheOtherSaw(t *testing.T) {
	cfg := Config{Workers: 4, Procs: 1, Keys: 1, Dist: Uniform(), KeyPrefix: "k", Duration: 400 * time.Millisecond,
		TTL: time.Hour, Hold: Fixed(time.Millisecond), History: 64}
	f := tableOfRun(t, cfg)
	begun := func(ago time.Duration) func() int64 {
		at := Monotonic() - int64(ago)
		return func() int64 { return at }
	}
	killed, err := RunPart(t.Context(), "test", newLeases(2, time.Millisecond), cfg, Place{Begin: begun(0), Table: f})
	require.NoError(t, err)
	require.Positive(t, killed.Overlaps)

	begin := time.Now() // a second before the end of a run of three
	cfg.Duration, cfg.Rate, cfg.Arrivals = 3*time.Second, 100, ArrivalsUniform
	part, err := RunPart(t.Context(), "test", newLeases(1, time.Millisecond), cfg, Place{Begin: begun(2 * time.Second), Joins: true, Table: f})
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 2500*time.Millisecond, "it ends with the others")
	require.GreaterOrEqual(t, time.Duration(part.Elapsed), cfg.Duration)
	require.Equal(t, killed.Overlaps, part.Overlaps)
	require.NotEmpty(t, killed.History)
	require.Subset(t, part.History, killed.History[len(killed.History)/2:], "the ring goes on")
	require.GreaterOrEqual(t, part.Joined, 2*time.Second)
	require.InDelta(t, (time.Duration(part.Elapsed)-part.Joined)/(10*time.Millisecond), part.Totals.Offered, 2, "what was due since it is ready")
	for _, stall := range part.Stalls.All {
		require.GreaterOrEqual(t, stall.AtNs, int64(2*time.Second), "since the measured time began")
	}
	require.Len(t, part.Series, 1, "none of the seconds that were over")
	series := mergeSeries([]*Part{part, {Series: []Point{{TS: 1}}}})
	require.Equal(t, part.Totals.Acquired, series[2].Acquired+part.Drain.Acquired, "in the third second")
	require.Equal(t, killed.Totals.Acquired+part.Totals.Acquired, part.Audited)
	part.Totals.Acquired = 0
	valid := Merge("test", cfg, []*Part{part}).Valid
	require.False(t, valid.Has(ReasonNothing) || valid.Has(ReasonFew), "%s", valid)
}

func TestFiguresAddUpByTheirTypes(t *testing.T) {
	h := NewHistogram()
	h.Record(ms, 3)
	one := figures{
		Totals: Totals{Acquired: 2}, Cycles: 1, LongestWait: 5, Latency: hists{CycleTime: h}, Shares: []int64{1, 2}, Counts: Counts{Rounds: 2},
		Client: Client{CPUShare: 0.25}, Stalls: &Peaks{All: []Peak{{1, 2}}}, Growing: true, Why: "first",
	}
	sum := figures{LongestWait: 3}
	add(&sum, one)
	one.Why, one.Growing = "second", false
	add(&sum, one)
	got := sum.Latency[CycleTime]
	require.EqualValues(t, 6, got.Count())
	require.EqualValues(t, 3, h.Count())
	sum.Latency = hists{}
	require.Equal(t, figures{
		Totals: Totals{Acquired: 4}, Cycles: 2, LongestWait: 5, Shares: []int64{1, 2, 1, 2}, Counts: Counts{Rounds: 4},
		Client: Client{CPUShare: 0.5}, Stalls: &Peaks{All: []Peak{{1, 2}, {1, 2}}}, Growing: true, Why: "first",
	}, sum)
}

func TestSecondsOfAPausedProcessStayWhereTheyWere(t *testing.T) {
	latency, err := NewHistogram().MarshalText()
	require.NoError(t, err)
	of := func(ts float64, n int64) Point { return Point{TS: ts, Cycles: n, Acquired: n, Latency: latency} } // which ends here
	steady := &Part{Series: []Point{of(1.001, 100), of(2.001, 100), of(3.001, 100), of(4.001, 100), of(4.3, 30)}}
	for name, c := range map[string]struct {
		paused []Point
		want   []Point
	}{
		"in its first second": {
			[]Point{of(2.6, 100), of(2.604, 0), of(3.001, 40), of(4.002, 100), of(4.301, 30)},
			[]Point{{TS: 1, Cycles: 100}, {TS: 2, Cycles: 100}, {TS: 3, Cycles: 240}, {TS: 4, Cycles: 200}, {TS: 4.301, Cycles: 60}},
		},
		"for less than half a second": {
			[]Point{of(1.002, 100), of(2.4, 100), of(3.001, 60), of(4.002, 100), of(4.3, 30)},
			[]Point{{TS: 1, Cycles: 200}, {TS: 2, Cycles: 200}, {TS: 3, Cycles: 160}, {TS: 4, Cycles: 200}, {TS: 4.3, Cycles: 60}},
		},
		"until after the end": {
			[]Point{of(1.002, 100), of(2, 100), of(6.7, 90), of(6.701, 0), of(6.702, 0)},
			[]Point{{TS: 1, Cycles: 200}, {TS: 2, Cycles: 200}, {TS: 3, Cycles: 100}, {TS: 4, Cycles: 100}, {TS: 5, Cycles: 30}, {TS: 6}, {TS: 6.702, Cycles: 90}},
		},
	} {
		for i := range c.want {
			c.want[i].Acquired = c.want[i].Cycles
		}
		require.Equal(t, c.want, mergeSeries([]*Part{steady, {Series: c.paused}}), name)
		require.Equal(t, c.want, mergeSeries([]*Part{{Series: c.paused}, steady}), name)
	}
	require.Equal(t, []Point{}, mergeSeries([]*Part{{}, {}}))
	alone := mergeSeries([]*Part{{Series: []Point{of(2.6, 100), of(2.604, 0), of(3, 40)}}})
	require.Equal(t, []float64{2.6, 2.604, 3}, []float64{alone[0].TS, alone[1].TS, alone[2].TS})
}

func TestProcessesDrawDifferentNamesAndArrivals(t *testing.T) {
	cfg := Config{Workers: 1, Procs: 2, Keys: 1000, Dist: Uniform(), Rate: 100, Seed: 1, Hold: Exp(time.Millisecond)}
	one, other := newSchedule(cfg, nil), (*schedule)(nil)
	cfg.proc = 1
	other = newSchedule(cfg, nil)
	a, b := one.next(), other.next()
	require.NotEqual(t, a.at, b.at)
	require.NotEqual(t, a.key, b.key)
	require.NotEqual(t, a.hold, b.hold)

	cfg.Arrivals, cfg.proc = ArrivalsUniform, 0
	one = newSchedule(cfg, nil)
	cfg.proc = 1
	other = newSchedule(cfg, nil)
	for n := range int64(3) { // 100 a second in turn
		require.Equal(t, (2*n+2)*10*ms, one.next().at)
		require.Equal(t, (2*n+3)*10*ms, other.next().at)
	}
}

func TestRunIsOneProcess(t *testing.T) {
	cfg := good()
	cfg.Procs = 2
	_, err := Run(t.Context(), "test", noop{}, cfg)
	require.ErrorIs(t, err, ErrConfig)
	for _, place := range []Place{{Proc: -1}, {Proc: 2}} {
		cfg.KeyPrefix = "k"
		_, err = RunPart(t.Context(), "test", noop{}, cfg, place)
		require.ErrorIs(t, err, ErrConfig)
	}
}

func TestTheClockOfARunIsThatOfTheMachine(t *testing.T) {
	if !SharesMemory {
		t.Skip("no common clock here")
	}
	before := time.Now()
	begin := Monotonic() + int64(time.Hour)
	after := time.Now()
	base := baseAt(begin).Add(-time.Hour)
	require.WithinRange(t, base, before.Add(-10*time.Millisecond), after.Add(10*time.Millisecond))
}
