package bench

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// virtual runs l in virtual time. f may read the Result while the clock stands.
func virtual(t *testing.T, ctx func(context.Context) context.Context, l Locker, cfg Config, f func(*testing.T, *Result, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := t.Context()
		if ctx != nil {
			c = ctx(c)
		}
		require.NoError(t, cfg.Validate())
		res, err := newRunner(c, "test", l, cfg, newTable(cfg), time.Now).run(c)
		f(t, res, err)
		requireJSON(t, res)
	})
}

// measure returns the result of a run of l in virtual time.
func measure(t *testing.T, l Locker, cfg Config) (r *Result) {
	t.Helper()
	return measureNew(t, func() Locker { return l }, cfg)
}

// measureNew is measure of a Locker that is made in virtual time.
func measureNew(t *testing.T, l func() Locker, cfg Config) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, cfg.Validate())
		var err error
		r, err = newRunner(t.Context(), "test", l(), cfg, newTable(cfg), time.Now).run(t.Context())
		require.NoError(t, err)
		requireJSON(t, r)
	})
	return r
}

// requireJSON requires that a Result can be written: no NaN, no null array.
func requireJSON(t *testing.T, res *Result) {
	t.Helper()
	b, err := json.Marshal(res)
	require.NoError(t, err)
	require.NotRegexp(t, `[:,\[]null`, string(b))
	requireSums(t, res)
}

// requireSums requires that the counts of a Result add up: those of its seconds and its drain are its totals.
func requireSums(t *testing.T, res *Result) {
	t.Helper()
	var sum Point
	for _, p := range res.Series {
		sum.Add(p)
	}
	if res.Drain != nil {
		sum.Add(*res.Drain)
	}
	all := res.Totals
	require.Equal(t, []int64{all.Acquired, all.Refused, all.Timeouts, all.Errors, all.Unfinished}, []int64{sum.Acquired, sum.Refused, sum.Timeouts, sum.Errors, sum.Unfinished})
	if !res.Valid.Has(ReasonPanic) { // else the operations that panicked are missing
		require.Equal(t, all.Offered, all.Finished+all.Unfinished)
	}
}

func TestClosedLoopCountsWholeCyclesWithoutWarmup(t *testing.T) {
	l := slow{acquire: takes(3 * time.Millisecond), release: time.Millisecond}
	cfg := Config{Workers: 4, Duration: 4001500 * time.Microsecond, Warmup: 2 * time.Second, TTL: time.Second}
	r := measure(t, l, cfg)
	require.Equal(t, Valid{OK: true, Reasons: []Reason{}}, r.Valid)
	require.InDelta(t, 1000, r.ThroughputPerS, 2)
	require.InDelta(t, 4.0015, r.DurationS, 1e-6)
	require.InDelta(t, 4000, r.Totals.Acquired, 8)
	require.Equal(t, r.Totals.Started, r.Totals.Offered)
	require.InDelta(t, r.Totals.Acquired, r.Totals.Started, 4)
	require.Equal(t, r.Latency[CycleTime].Count, r.Totals.Acquired)
	require.InEpsilon(t, 3e6, r.Latency[AcquireTime].Mean, 0.001)
	require.InEpsilon(t, 1e6, r.Latency[ReleaseTime].P["50"], 0.001)
	require.InEpsilon(t, 4e6, r.Latency[CycleTime].P["99.99"], 0.001)
	require.Nil(t, r.Latency[ResponseTime])
	require.InDelta(t, 1, r.Fairness.Jain, 1e-6)
	require.EqualValues(t, 3*ms, r.Fairness.MaxWaitNs)
	require.Len(t, r.Series, 4)
	var cycles int64
	for i, p := range r.Series {
		require.InDelta(t, i+1, p.TS, 0.0016)
		cycles += p.Cycles
	}
	require.Equal(t, r.Latency[CycleTime].Count, cycles+r.Drain.Cycles)
	require.InDelta(t, 4.004, r.Drain.TS, 1e-6)
	require.EqualValues(t, 4, r.Drain.Cycles, "one of each worker, and in no rate")
	require.InDelta(t, 1000, r.AcquiredPerS, 2)
}

func TestWarmupLeavesNoTrace(t *testing.T) {
	var calls atomic.Int64
	l := slow{acquire: func(context.Context) error {
		if calls.Add(1) <= 10 { // the first second
			time.Sleep(100 * time.Millisecond)
			return errors.New("cold")
		}
		time.Sleep(time.Millisecond)
		return nil
	}}
	cfg := Config{Workers: 1, Duration: time.Second, Warmup: 1500 * time.Millisecond, TTL: time.Second}
	r := measure(t, l, cfg)
	require.Zero(t, r.Totals.Errors)
	require.InEpsilon(t, 1e6, r.Latency[CycleTime].Max, 0.001)
	require.EqualValues(t, ms, r.Fairness.MaxWaitNs)
	require.Equal(t, []string{"acquire: cold"}, r.ErrorSamples)
}

func TestHoldAndThinkAreNotLatency(t *testing.T) {
	l := slow{acquire: takes(time.Millisecond), release: time.Millisecond}
	cfg := Config{Workers: 1, Duration: time.Second, TTL: time.Second, Hold: Fixed(3 * time.Millisecond), Think: Fixed(5 * time.Millisecond)}
	r := measure(t, l, cfg)
	require.InDelta(t, 100, r.ThroughputPerS, 1)
	require.InEpsilon(t, 2e6, r.Latency[CycleTime].Max, 0.001)
	require.InEpsilon(t, 1e6, r.Latency[ReleaseTime].Max, 0.001)
}

func TestLongHoldIsReleasedWhenTheRunEnds(t *testing.T) {
	l := newLeases(1, time.Millisecond)
	cfg := Config{Workers: 2, Duration: time.Second, TTL: time.Hour, Hold: Fixed(time.Hour), KeyPrefix: "k"}
	r := measure(t, l, cfg)
	require.EqualValues(t, 2, r.Totals.Acquired)
	require.Zero(t, r.Latency[CycleTime].Count)
	require.InDelta(t, 1, r.DurationS, 1e-6)
	require.Empty(t, l.held["k0"])
	require.Empty(t, l.held["k1"])
}

func TestOutcomesAreToldApart(t *testing.T) {
	for _, c := range []struct {
		name    string
		acquire func(context.Context) error
		wait    time.Duration
		want    func(Totals) int64
		perS    int64 // per worker
		sample  string
	}{
		{"refused", func(context.Context) error { time.Sleep(time.Millisecond); return ErrRefused }, 0, func(c Totals) int64 { return c.Refused }, 500, ""},
		{"refused at once, slowed down", fails(ErrRefused), 0, func(c Totals) int64 { return c.Refused }, 1000, ""},
		{"timeout", hangs, 10 * time.Millisecond, func(c Totals) int64 { return c.Timeouts }, 100, ""},
		{"error at once, slowed down", fails(errors.New("no quorum")), 0, func(c Totals) int64 { return c.Errors }, 1000, "acquire: no quorum"},
		{"deadline of the locker's own", fails(context.DeadlineExceeded), 0, func(c Totals) int64 { return c.Errors }, 1000, "acquire: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Workers: 2, Duration: time.Second, TTL: time.Second, Wait: c.wait, Op: Try}
			r := measure(t, slow{acquire: c.acquire}, cfg)
			n := c.want(r.Totals)
			require.InDelta(t, 2*c.perS, n, 2)
			require.Equal(t, n, r.Totals.Refused+r.Totals.Timeouts+r.Totals.Errors, "nothing else")
			require.InDelta(t, n, r.Totals.Started, 2)
			if c.sample == "" {
				require.Empty(t, r.ErrorSamples)
				require.Equal(t, []Reason{{Kind: ReasonNothing}}, r.Valid.Reasons)
			} else {
				require.Equal(t, []string{c.sample}, r.ErrorSamples)
				require.Equal(t, []Reason{{ReasonNothing, c.sample}}, r.Valid.Reasons)
			}
		})
	}
}

func TestNoPauseAfterARefusalWithThinkTimeOrARate(t *testing.T) {
	for _, cfg := range []Config{{Think: Fixed(2 * time.Millisecond)}, {Rate: 500, Arrivals: ArrivalsUniform}} {
		cfg.Workers, cfg.Duration, cfg.TTL, cfg.Op = 1, time.Second, time.Second, Try
		r := measure(t, slow{acquire: fails(ErrRefused)}, cfg)
		require.InDelta(t, 500, r.Totals.Refused, 1)
		require.Zero(t, r.Totals.Late)
	}
}

func TestAnAcquireThatNeverGotItsLockSaysWhy(t *testing.T) {
	young := errors.New("one master is young")
	l := slow{acquire: func(ctx context.Context) error { <-ctx.Done(); return errors.Join(young, ctx.Err()) }}
	for _, wait := range []time.Duration{0, 10 * time.Millisecond} { // cut off by the end of the run, timed out
		cfg := Config{Workers: 2, Duration: time.Second, TTL: time.Second, Wait: wait}
		r := measure(t, l, cfg)
		require.Zero(t, r.Totals.Errors)
		require.Len(t, r.Valid.Reasons, 1)
		require.Contains(t, r.Valid.String(), "nothing was acquired: one master is young; context")
	}
	var s samples
	for _, text := range []string{"no", "first", "other"} {
		s.vain(0, true, errors.New(text))
	}
	require.Equal(t, "first", s.why, "of those that say most")
}

// unhurried takes long to be prepared, as a run with many names does.
type unhurried struct{ slow }

func (unhurried) Allowance(time.Duration) time.Duration {
	time.Sleep(10 * time.Second)
	return 0
}

func TestTheRunBeginsWhenItIsPrepared(t *testing.T) {
	var begins []time.Time
	warm := false
	cfg := Config{Workers: 1, Warmup: time.Second, Duration: time.Second, TTL: time.Second, Wait: time.Second,
		Begin: func(at time.Time) { begins = append(begins, at) }, Progress: func(p Progress) { warm = warm || p.Warmup }}
	virtual(t, nil, unhurried{slow{acquire: takes(time.Millisecond)}}, cfg, func(t *testing.T, r *Result, err error) {
		require.True(t, warm)
		require.Len(t, begins, 1)
		require.InDelta(t, 2*time.Second, time.Since(begins[0]), 1e6+1, "an acquire may be under way at the end")
		require.InDelta(t, 1000, r.Totals.Acquired, 2)
	})
}

// The measured time of a process that comes late to it began without it.
func TestTheMeasuredTimeBeginsWhenTheWarmUpShouldHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		time.Sleep(1500 * time.Millisecond)
		cfg := Config{Workers: 4, Rate: 100, Arrivals: ArrivalsUniform, Warmup: time.Second, Duration: 2 * time.Second, TTL: time.Second}
		r := newRunner(t.Context(), "test", slow{acquire: takes(time.Millisecond)}, cfg, newTable(cfg), func() time.Time { return begin })
		res, err := r.run(t.Context())
		require.NoError(t, err)
		require.InDelta(t, 3*time.Second, time.Since(begin), 1e6+1)
		require.Equal(t, 2.0, res.DurationS)
		require.InDelta(t, 200, res.Totals.Offered, 1)
		require.InDelta(t, 500*ms, res.Latency[ResponseTime].Max, 2e6)
		require.Len(t, res.Series, 2)
		require.Equal(t, 1.0, res.Series[0].TS)
	})
}

func TestNothingIsForgottenThatEndedAfterTheWarmUp(t *testing.T) {
	rec := newRecorder(Config{Workers: 2})
	end := func(worker int) {
		rec.shard(worker).acquiredLocked(&operation{acquire: ms, wait: -1, handover: -1, used: -1})
		rec.shard(worker).releasedLocked(&operation{acquire: ms, release: ms}, nil)
	}
	end(0)
	rec.rotate()
	end(1)
	rec.swap()
	end(0)
	end(1)
	rec.forget()
	i := rec.rotate()
	require.EqualValues(t, 2, i.Cycles)
	require.EqualValues(t, 2, rec.cycles)
	require.EqualValues(t, 2, rec.counts.Acquired)
	require.EqualValues(t, 2, rec.total[CycleTime].Count())
}

func TestWaitOfOneCallDoesNotCutTheNext(t *testing.T) {
	l := slow{acquire: takes(8 * time.Millisecond)}
	cfg := Config{Workers: 1, Duration: time.Second, TTL: time.Second, Wait: 10 * time.Millisecond}
	r := measure(t, l, cfg)
	require.Zero(t, r.Totals.Timeouts)
	require.InDelta(t, 125, r.Totals.Acquired, 1)
}

// failingRelease counts its releases as errors, not as cycles.
type failingRelease struct{ noop }

func (f failingRelease) Acquire(context.Context, string, time.Duration) (Held, error) { return f, nil }
func (failingRelease) Release(context.Context) error                                  { return errors.New("gone") }

func TestFailedReleaseIsAnErrorAndNoCycle(t *testing.T) {
	cfg := Config{Workers: 1, Duration: time.Second, TTL: time.Second}
	r := measure(t, failingRelease{}, cfg)
	require.InDelta(t, 1000, r.Totals.Errors, 1)
	require.Equal(t, r.Totals.Errors, r.Totals.Acquired)
	require.Zero(t, r.ThroughputPerS)
	require.Equal(t, []string{"release: gone"}, r.ErrorSamples)
}

func TestWaitersCutOffByTheEndOfTheDrainAreUnfinished(t *testing.T) {
	cfg := Config{Workers: 3, Duration: time.Second, TTL: time.Second}
	r := measure(t, slow{acquire: hangs}, cfg)
	require.Equal(t, Totals{Offered: 3, Started: 3, Unfinished: 3, Failed: 3}, r.Totals)
	require.InDelta(t, 2*time.Second, r.Fairness.MaxWaitNs, 1e6, "a drain is no longer than the run")
	require.EqualValues(t, 3, r.Drain.Unfinished)
	require.Empty(t, r.ErrorSamples)
}

func endsAfter(t *testing.T, d time.Duration) func(context.Context) context.Context {
	return func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, d)
		t.Cleanup(cancel)
		return ctx
	}
}

func TestInterruptedRunReturnsWhatItHas(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  time.Duration
		wantS  float64
		cycles int64
	}{
		{name: "while measuring", after: 1500*time.Millisecond + 500*time.Microsecond, wantS: 0.5005, cycles: 501}, // in the middle of a cycle, which still ends
		{name: "while warming up", after: 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Workers: 1, Warmup: time.Second, Duration: time.Minute, TTL: time.Second}
			virtual(t, endsAfter(t, c.after), slow{acquire: takes(time.Millisecond)}, cfg, func(t *testing.T, r *Result, err error) {
				require.NoError(t, err)
				require.True(t, r.Interrupted())
				require.Equal(t, []Reason{{Kind: ReasonInterrupted}}, r.Valid.Reasons)
				require.InDelta(t, c.wantS, r.DurationS, 1e-6)
				require.InDelta(t, c.cycles, r.Latency[CycleTime].Count, 1)
				require.Zero(t, r.Totals.Errors)
			})
		})
	}
}

func TestARunThatIsInterruptedInItsDrainIsNotValid(t *testing.T) {
	for after, interrupted := range map[time.Duration]bool{1100 * time.Millisecond: true, 1300 * time.Millisecond: false} {
		cfg := Config{Workers: 200, Duration: time.Second, TTL: time.Hour, Hold: Fixed(1200 * time.Millisecond)}
		virtual(t, endsAfter(t, after), slow{acquire: takes(time.Millisecond)}, cfg, func(t *testing.T, r *Result, err error) {
			require.NoError(t, err)
			require.EqualValues(t, 200, r.Totals.Acquired)
			require.Equal(t, interrupted, r.Interrupted())
			require.Equal(t, 1.0, r.DurationS)
		})
	}
}

func TestPanicOfTheLockerEndsTheRun(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		var calls atomic.Int64
		l := slow{acquire: func(context.Context) error {
			time.Sleep(time.Millisecond)
			if calls.Add(1) == 100 {
				panic("boom")
			}
			return nil
		}}
		cfg := Config{Workers: 4, Duration: time.Minute, TTL: time.Second, Rate: rate}
		virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) {
			require.ErrorContains(t, err, "boom")
			require.ErrorContains(t, err, "run_test.go")
			require.True(t, r.Valid.Has(ReasonPanic))
			require.Less(t, r.DurationS, 1.0)
		})
	}
}

func TestOpenLoopMeetsItsRate(t *testing.T) {
	l := slow{acquire: takes(2 * time.Millisecond), release: time.Millisecond}
	cfg := Config{Workers: 20, Rate: 1000, Arrivals: ArrivalsUniform, Duration: 2 * time.Second, Warmup: time.Second, TTL: time.Second}
	r := measure(t, l, cfg)
	require.True(t, r.Valid.OK, r.Valid.Reasons)
	require.InDelta(t, 2000, r.Totals.Offered, 1)
	require.Equal(t, r.Totals.Offered, r.Totals.Started)
	require.InDelta(t, 1000, r.ThroughputPerS, 3)
	require.InEpsilon(t, 2e6, r.Latency[ResponseTime].P["99"], 0.001)
	require.InEpsilon(t, 2e6, r.Latency[AcquireTime].P["99"], 0.001)
}

func TestRateThatCannotBeMetIsSaid(t *testing.T) {
	// Two workers at 10 ms a cycle: 200/s of the 400/s.
	l := slow{acquire: takes(10 * time.Millisecond)}
	cfg := Config{Workers: 2, Rate: 400, Arrivals: ArrivalsUniform, Duration: 2 * time.Second, Warmup: time.Second, TTL: time.Second}
	r := measure(t, l, cfg)
	require.False(t, r.Valid.OK)
	require.Contains(t, r.Valid.Reasons[0].String(), "rate not met: offered 400.0/s, started 20")
	require.Equal(t, ReasonBacklog, r.Valid.Reasons[1].Kind)
	require.InDelta(t, 800, r.Totals.Offered, 1)
	require.InDelta(t, 400, r.Totals.Started, 4)
	require.InDelta(t, 200, r.ThroughputPerS, 4, "the warm-up's backlog is not worked off in the measured time")
	require.Greater(t, r.Latency[ResponseTime].Max, 900*ms)
}

func TestResponseSeesAStallThatClosedLoopServiceHides(t *testing.T) {
	stall := func() Locker {
		begin, stalled := time.Now(), new(atomic.Bool)
		return slow{acquire: func(context.Context) error {
			time.Sleep(time.Millisecond / 2)
			if time.Since(begin) > time.Second && stalled.CompareAndSwap(false, true) {
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}}
	}
	cfg := Config{Workers: 1, Duration: 3 * time.Second, TTL: time.Second}
	closed := measureNew(t, stall, cfg)
	cfg.Rate, cfg.Arrivals = 1000, ArrivalsUniform
	open := measureNew(t, stall, cfg)
	require.True(t, open.Valid.OK, open.Valid.Reasons)
	require.Greater(t, open.Latency[ResponseTime].P["99"], 50*ms)
	require.Less(t, open.Latency[AcquireTime].P["99"], ms)
	require.Less(t, closed.Latency[AcquireTime].P["99"], ms)
}

func TestAuditOfARunIsSilentForExpiringLeases(t *testing.T) {
	// Every hold outlives its lease by far, so the next holder is correct.
	cfg := Config{Workers: 8, Keys: 2, Dist: Uniform(), Duration: 500 * time.Millisecond, TTL: 2 * time.Millisecond, Hold: Fixed(5 * time.Millisecond)}
	r := measure(t, newLeases(1, time.Millisecond), cfg)
	require.Positive(t, r.Totals.Acquired)
	require.Zero(t, r.Safety.Overlaps)
	r, err := Run(t.Context(), "leases", newLeases(1, 100*time.Microsecond), cfg)
	require.NoError(t, err)
	require.Greater(t, r.Totals.Acquired, int64(50))
	require.Zero(t, r.Safety.Overlaps)
}

func TestProgressComesWithEachPhaseAndOnceASecondAndEndsWithTheResult(t *testing.T) {
	var got []Progress
	cfg := Config{Workers: 1, Warmup: 2 * time.Second, Duration: 3 * time.Second, TTL: time.Second}
	cfg.Progress = func(p Progress) { got = append(got, p) }
	r := measure(t, slow{acquire: takes(time.Millisecond)}, cfg)
	require.Len(t, got, 6)
	for i, want := range []Progress{
		{Warmup: true, Total: cfg.Warmup},
		{Warmup: true, Total: cfg.Warmup, Elapsed: time.Second},
		{Total: cfg.Duration},
		{Total: cfg.Duration, Elapsed: time.Second},
		{Total: cfg.Duration, Elapsed: 2 * time.Second},
		{Total: cfg.Duration, Elapsed: 3 * time.Second, Result: r},
	} {
		cycles := 0
		if want.Elapsed > 0 {
			cycles = 1000
		}
		require.InDelta(t, cycles, got[i].Point.Cycles, 2, i)
		want.Impl, want.Round, want.Point = "test", 1, got[i].Point
		require.Equal(t, want, got[i], i)
	}
}

func TestSlowProgressDoesNotDelayTheLoad(t *testing.T) {
	cfg := Config{Workers: 1, Duration: 10 * time.Second, TTL: time.Second}
	cfg.Progress = func(Progress) { time.Sleep(4 * time.Second) }
	r := measure(t, slow{acquire: takes(time.Millisecond)}, cfg)
	require.Len(t, r.Series, 10)
	require.InDelta(t, 10, r.DurationS, 1e-6)
}

func TestRunRefusesABadConfigBeforeAnything(t *testing.T) {
	res, err := Run(t.Context(), "x", slow{acquire: func(context.Context) error { panic("called") }}, Config{})
	require.ErrorIs(t, err, ErrConfig)
	require.Nil(t, res)
}
