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

func beginsAt(at, since int64) func() Begin {
	return func() Begin { return Begin{at, since} }
}

// inParts runs cfg like several processes. Each has its own mapping of the table and its own clock; they
// share the locker. Parts go through JSON.
func inParts(t *testing.T, l Locker, cfg Config) *Result {
	t.Helper()
	if !SharesMemory {
		t.Skip("no shared memory here")
	}
	path := filepath.Join(t.TempDir(), "table")
	parts := make([]*Part, cfg.Procs)
	var ready sync.WaitGroup
	ready.Add(cfg.Procs)
	begin := sync.OnceValue(func() Begin { return Begin{At: Monotonic() + int64(10*time.Millisecond)} })
	require.NoError(t, os.WriteFile(path, make([]byte, TableSize(cfg)), 0o600))
	var g errgroup.Group
	for i := range parts {
		g.Go(func() error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			part, err := RunPart(t.Context(), "test", l, cfg, Place{Proc: i, Table: f, Begin: func() Begin {
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
	require.Positive(t, r.Latency[UncontendedTime].Count)
	require.Positive(t, r.Client.Stall.Count)
	require.Greater(t, r.Client.CPUShare, 0.0)
	require.Less(t, r.Client.CPUShare, 1.01)
	require.Less(t, r.Latency[RemoteHandoverTime].P["50"], 100*ms, "the clocks agree")
}

// A killed process leaves no part. What its audit and its history found is in the table.
func TestAProcessThatTakesAPlaceGoesOnWithWhatTheOtherSaw(t *testing.T) {
	if !SharesMemory {
		t.Skip("no shared memory here")
	}
	cfg := Config{Workers: 4, Procs: 1, Keys: 1, Dist: Uniform(), KeyPrefix: "k", Duration: 400 * time.Millisecond,
		TTL: time.Hour, Hold: Fixed(time.Millisecond), History: 64}
	path := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(path, make([]byte, TableSize(cfg)), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	place := Place{Begin: beginsAt(Monotonic(), 0), Table: f}
	killed, err := RunPart(t.Context(), "test", newLeases(2, time.Millisecond), cfg, place)
	require.NoError(t, err)
	require.Positive(t, killed.Overlaps)

	place.Joins = true // a second before the end of a run of three
	place.Begin, cfg.Duration = beginsAt(Monotonic()-int64(2*time.Second), 0), 3*time.Second
	var reports []Progress
	cfg.Progress = func(p Progress) {
		if 0 < p.Elapsed && p.Elapsed < cfg.Duration {
			reports = append(reports, p)
		}
	}
	begin := time.Now()
	part, err := RunPart(t.Context(), "test", newLeases(1, time.Millisecond), cfg, place)
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 2500*time.Millisecond, "it ends with the others")
	require.GreaterOrEqual(t, part.Elapsed, cfg.Duration)
	require.Equal(t, killed.Overlaps, part.Overlaps)
	require.NotEmpty(t, killed.History)
	require.Subset(t, part.History, killed.History[len(killed.History)/2:], "the ring goes on")
	require.Len(t, part.Series, 3)
	for n, i := range part.Series[:2] {
		require.Equal(t, Point{TS: float64(n + 1)}, i, "a second that was over when it came")
	}
	require.Empty(t, reports, "of those seconds")
	require.Positive(t, part.Series[2].Acquired)
	for _, stall := range part.Stalls.All {
		require.GreaterOrEqual(t, stall.AtNs, int64(2*time.Second), "since the measured time began")
	}

	before := part.Totals
	require.Equal(t, part.Series[2].Acquired+part.Drain.Acquired, before.Acquired)
	part.Replaces([]Progress{
		{Elapsed: time.Second, Warmup: true, Point: Point{Acquired: 7}},
		{Elapsed: time.Second, Point: Point{Acquired: 5}, Totals: Totals{Acquired: 5, Fenced: 4}},
		{Elapsed: 2 * time.Second, Point: Point{Acquired: 6}, Totals: Totals{Acquired: 11, Fenced: 9}},
		{Elapsed: time.Hour, Totals: Totals{Acquired: 11, Fenced: 9}},
	})
	part.Replaces([]Progress{{Elapsed: 2 * time.Second, Point: Point{Acquired: 1}, Totals: Totals{Acquired: 1}}})
	require.EqualValues(t, 5, part.Series[0].Acquired)
	require.EqualValues(t, 7, part.Series[1].Acquired)
	require.Equal(t, before.Acquired+12, part.Totals.Acquired)
	require.Equal(t, before.Fenced+9, part.Totals.Fenced)
	res := Merge("test", cfg, []*Part{part})
	require.InDelta(t, float64(12+part.Shares[0]+part.Shares[1]+part.Shares[2]+part.Shares[3])/res.DurationS, res.AcquiredPerS, 1e-6)
	require.InDelta(t, float64(part.Series[2].Cycles)/res.DurationS, res.ThroughputPerS, 1e-6)
}

// Arrivals keep coming while a process is dead.
func TestAProcessThatTakesAPlaceBeginsWhatWasDueSinceTheOtherDied(t *testing.T) {
	if !SharesMemory {
		t.Skip("no shared memory here")
	}
	cfg := Config{Workers: 4, Procs: 1, Keys: 4, Dist: Uniform(), KeyPrefix: "k", Duration: 3 * time.Second, TTL: time.Hour, Rate: 100, Arrivals: ArrivalsUniform}
	path := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(path, make([]byte, TableSize(cfg)), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	now := Monotonic()
	place := Place{Begin: beginsAt(now-int64(2*time.Second), now-int64(500*time.Millisecond)), Joins: true, Table: f}
	part, err := RunPart(t.Context(), "test", newLeases(1, time.Millisecond), cfg, place)
	require.NoError(t, err)
	require.InDelta(t, (part.Elapsed-1500*time.Millisecond)/(10*time.Millisecond), part.Totals.Offered, 2, "of 1.5 s")
	require.Equal(t, part.Totals.Offered, part.Totals.Acquired)
	require.GreaterOrEqual(t, part.Latency[ResponseTime].Percentile(100), 490*ms, "since they were due")
}

// calm repeats a run during which the machine stalled, a few times.
func calm(run func() *Result) (r *Result) {
	for range 5 {
		if r = run(); r.Client.Stall != nil && r.Client.Stall.Max < 50*ms {
			break
		}
	}
	return r
}

func TestMergeAddsUpWhatPartsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a calm machine")
	}
	cfg := Config{Workers: 3, Procs: 3, KeyPrefix: "k", Duration: 1200 * time.Millisecond, Warmup: 50 * time.Millisecond, TTL: time.Second}
	r := calm(func() *Result {
		return inParts(t, slow{acquire: takes(time.Millisecond), release: time.Millisecond}, cfg)
	})
	require.True(t, r.Valid.OK, r.Valid.Reasons)
	require.Equal(t, 9, r.Keys)
	require.Len(t, r.Fairness.PerProc, 3)
	require.InDelta(t, 1, r.Fairness.Jain, 0.05, "of nine workers")
	require.InDelta(t, r.Totals.Acquired, r.Latency[AcquireTime].Count, 0)
	var sum int64
	for _, share := range r.Fairness.PerProc {
		require.Positive(t, share)
		sum += share
	}
	require.Equal(t, r.Totals.Acquired, sum)
	require.Len(t, r.Series, 2)
	require.Equal(t, r.Latency[CycleTime].Count, r.Series[0].Cycles+r.Series[1].Cycles+r.Drain.Cycles)
	require.GreaterOrEqual(t, r.Series[0].P50Ns, 2*ms)
	require.Greater(t, r.Fairness.MeanWaitNs, ms)
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
