package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outage is a lock that takes 1 ms. While its masters are away, it waits until they are back.
func outage(from, to time.Duration) func() Locker {
	return func() Locker {
		begin := time.Now()
		return slow{acquire: func(ctx context.Context) error {
			d := time.Millisecond
			if at := time.Since(begin); from <= at && at < to {
				d = to - at
			}
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
	}
}

func TestAnOutageAtTheEndOfARunShowsAsMuchAsOneBefore(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many workers")
	}
	for _, workers := range []int{64, 2000} { // most of it waits for a worker, or for the lock
		cfg := Config{Workers: workers, Rate: 500, Arrivals: ArrivalsUniform, Duration: 10 * time.Second, TTL: time.Second}
		p99 := func(from time.Duration) (ns int64) {
			r := measureNew(t, outage(from, from+1500*time.Millisecond), cfg)
			require.Equal(t, r.Totals.Offered, r.Latency[ResponseTime].Count, "every operation counts")
			ns = r.Latency[ResponseTime].P["99"]
			return ns
		}
		require.InEpsilon(t, p99(6500*time.Millisecond), p99(8500*time.Millisecond), 0.01)
	}
}

func TestWhatIsLeftAtTheEndIsWaitedForButNotForEver(t *testing.T) {
	cfg := Config{Workers: 4, Rate: 100, Arrivals: ArrivalsUniform, Duration: 10 * time.Second, TTL: time.Second}
	const from = 9005 * time.Millisecond
	r := measureNew(t, outage(from, from+4*time.Second), cfg)
	require.Zero(t, r.Totals.Unfinished)
	require.EqualValues(t, 999, r.Totals.Acquired)
	require.InDelta(t, 904, r.Totals.Started, 1, "in the measured time")
	require.InDelta(t, 90, r.AcquiredPerS, 0.1, "in the measured time")
	require.EqualValues(t, 99, r.Drain.Acquired)
	require.InDelta(t, 3.99e9, r.Latency[ResponseTime].Max, 1e7)
	require.Empty(t, r.Latency[ResponseTime].AtLeast)
	r = measureNew(t, outage(from, time.Hour), cfg)
	require.EqualValues(t, 999, r.Totals.Offered)
	require.EqualValues(t, 900, r.Totals.Finished)
	require.EqualValues(t, 99, r.Totals.Unfinished)
	require.EqualValues(t, 99, r.Totals.Failed)
	s := r.Latency[ResponseTime]
	require.EqualValues(t, 999, s.Count)
	require.EqualValues(t, 99, s.Censored)
	require.Equal(t, []string{"99", "99.9", "99.99"}, s.AtLeast)
	require.InEpsilon(t, 1e6, s.P["90"], 0.001, "known")
	require.InDelta(t, 5.9e9, s.P["99"], 1e8, "cut off 5 s after the end")
	require.True(t, r.Drain.P50AtLeast)
	require.EqualValues(t, 900, r.Latency[WaitTime].Count, "only the response is censored")
	require.EqualValues(t, 900, r.Latency[AcquireTime].Count)
}

func TestWhatNeverGotItsLockCountsAsLongerThanAllThatDid(t *testing.T) {
	h := NewHistogram()
	for i := range int64(90) {
		h.Record(1000*(i+1), 1)
	}
	h.RecordAtLeast(50_000, 10) // such as a refusal that came early
	for q, want := range map[float64]struct {
		ns      int64
		atLeast bool
	}{0.45: {45_000, false}, 0.9: {90_000, false}, 0.91: {90_000, true}, 1: {90_000, true}} {
		require.InEpsilon(t, want.ns, h.Percentile(100*q), 0.002, q)
		require.Equal(t, want.atLeast, h.AtLeast(100*q), q)
	}
	h.RecordAtLeast(200_000, 10)
	require.InEpsilon(t, 200_000, h.Percentile(99), 0.002)

	s := h.Summary()
	require.EqualValues(t, 110, s.Count)
	require.EqualValues(t, 20, s.Censored)
	require.Equal(t, []string{"90", "99", "99.9", "99.99"}, s.AtLeast)
	require.InEpsilon(t, (45_500*90+50_000*10+200_000*10)/110, s.Mean, 0.002)
	require.InEpsilon(t, 200_000, s.Max, 0.002)
	require.InEpsilon(t, 1000, s.Min, 0.002)
	back, err := s.Histogram()
	require.NoError(t, err)
	require.Equal(t, s, back.Summary())
	text, err := h.MarshalText()
	require.NoError(t, err)
	var other Histogram
	require.NoError(t, other.UnmarshalText(text))
	require.Equal(t, s, other.Summary())
	none := NewHistogram()
	none.RecordAtLeast(5, 1)
	none.Merge(h)
	require.EqualValues(t, 21, none.Censored())
	none.reset()
	none.RecordAtLeast(7000, 1)
	require.InEpsilon(t, 7000, none.Percentile(50), 0.002, "nothing is known")
	require.True(t, none.AtLeast(0.5))
}

func TestARefusalFailsWhoWaitedAndAnswersWhoOnlyTried(t *testing.T) {
	l := slow{acquire: func(context.Context) error { time.Sleep(time.Millisecond); return ErrRefused }}
	for op, failed := range map[Op]bool{AcquireRelease: true, Try: false} {
		cfg := Config{Workers: 4, Rate: 100, Arrivals: ArrivalsUniform, Duration: time.Second, TTL: time.Second, Op: op}
		r := measureNew(t, func() Locker { return l }, cfg)
		require.Equal(t, r.Totals.Offered, r.Totals.Refused)
		require.Equal(t, failed, r.Totals.Failed == r.Totals.Offered)
		require.Equal(t, r.Totals.Failed, r.Latency[ResponseTime].Censored)
	}
}

func TestPartsAddUpWhatIsCensored(t *testing.T) {
	cfg := Config{Workers: 4, Procs: 2, Rate: 400, Wait: 5 * time.Millisecond, KeyPrefix: "k", Duration: 500 * time.Millisecond, TTL: time.Second}
	r := inParts(t, slow{acquire: hangs}, cfg)
	require.Equal(t, r.Totals.Offered, r.Latency[ResponseTime].Censored)
	require.Equal(t, r.Totals.Offered, r.Totals.Failed)
	require.Equal(t, 8, r.Keys)
	points := r.Series
	if r.Drain != nil { // a busy machine may begin all of them late
		points = append(points, *r.Drain)
	}
	var late int64
	for _, p := range points {
		if late += p.Timeouts; p.Timeouts > 0 {
			require.True(t, p.P50AtLeast)
			require.GreaterOrEqual(t, p.P50Ns, 5*ms-ms/100)
		}
	}
	require.Positive(t, late)
}

// The holds of the warm-up's last half second end in the measured time, as many as begin in its last half second.
func TestThroughputIsOfAllThatEndedInTheMeasuredTime(t *testing.T) {
	cfg := Config{Workers: 200, Rate: 100, Arrivals: ArrivalsUniform, Hold: Fixed(500 * time.Millisecond), Warmup: time.Second, Duration: 2 * time.Second, TTL: time.Second}
	r := measureNew(t, func() Locker { return slow{acquire: takes(time.Millisecond)} }, cfg)
	require.InDelta(t, 100, r.AcquiredPerS, 1)
	require.InDelta(t, 100, r.ThroughputPerS, 1)
	require.InDelta(t, 100, r.Series[0].Cycles, 1)
	require.InDelta(t, 50, r.Drain.Cycles, 1)
	require.InDelta(t, 200, r.Totals.Acquired, 1, "that were due in it")
	require.Equal(t, r.Totals.Acquired, r.Latency[HoldTime].Count)
	require.Equal(t, r.Totals.Acquired, r.Latency[AcquireTime].Count)
}

// A waiter inside the lock has a worker. So neither Started nor the backlog shows that more locks are
// wanted than acquired.
func TestGoodputIsOfWhatWasAcquiredNotOfWhatWasStarted(t *testing.T) {
	cfg := Config{Workers: 2000, Rate: 1100, Keys: 1, Dist: Uniform(), Hold: Fixed(time.Millisecond), Duration: 4 * time.Second, Warmup: time.Second, TTL: time.Hour, Seed: 1}
	b := &baton{}
	r := measureNew(t, func() Locker { b.inBubble(t.Context()); return b }, cfg)
	require.Equal(t, r.Totals.Offered, r.Totals.Started)
	require.Equal(t, r.Totals.Offered, r.Totals.Acquired, "in the drain")
	require.InDelta(t, 0.91, r.AcquiredPerS*r.DurationS/float64(r.Totals.Offered), 0.02, "the goodput")
}

func TestAHoldThatOutlivesItsLeaseIsCountedAlsoWhenTheEndCutsIt(t *testing.T) {
	cfg := Config{Workers: 1, Hold: Fixed(time.Hour), Duration: time.Second, TTL: time.Second}
	require.EqualValues(t, 1, measure(t, lapsing{valid: time.Second, attempts: new(atomic.Uint64)}, cfg).Totals.Outlived)
}

// unreleased is lapsing whose releases fail.
type unreleased struct{ lapsing }

type unreleasedHeld struct{ Held }

func (l unreleased) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	h, err := l.lapsing.Acquire(ctx, name, ttl)
	return unreleasedHeld{h}, err
}

func (unreleasedHeld) Release(context.Context) error { return errors.New("gone") }

// The first hold of each worker begins in the warm-up, or ends in it.
func TestAHoldOfTheWarmUpIsNoShareOfTheLocksAfterIt(t *testing.T) {
	for hold, some := range map[time.Duration]bool{300 * time.Millisecond: true, 2990 * time.Millisecond: false} {
		cfg := Config{Workers: 8, Hold: Fixed(hold), Warmup: time.Second, Duration: time.Second, TTL: time.Second}
		l := unreleased{lapsing{valid: hold - time.Millisecond, attempts: new(atomic.Uint64)}}
		r := measure(t, l, cfg)
		require.Equal(t, some, r.Totals.Acquired > 0)
		require.Equal(t, r.Totals.Acquired, r.Totals.Outlived)
		require.Equal(t, r.Totals.Acquired, r.Totals.Errors)
		require.Equal(t, r.Totals.Acquired, r.Latency[HoldTime].Count)
	}
}
