package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHandoverCountsFromTheReleaseToAWaiterOnly(t *testing.T) {
	tab := newTable(Config{Keys: 2, Dist: Uniform()})
	begin := func(at int64) int64 {
		ns, _ := tab.handover(1, 3, at, 20*ms)
		return ns
	}
	require.EqualValues(t, -1, begin(0), "never released")
	for at, want := range map[int64]int64{5 * ms: 10 * ms, 10 * ms: 10 * ms, 10*ms + 1: -1} { // waited already, or the lock lay free
		tab.released(1, 3, 10*ms)
		require.Equal(t, want, begin(at))
		require.EqualValues(t, -1, begin(0), "it is gone")
	}
	tab.released(1, 3, 30*ms)
	require.EqualValues(t, -1, begin(5*ms), "released after it was acquired: somebody late")
	ns, _ := tab.handover(0, 3, 0, 20*ms)
	require.EqualValues(t, -1, ns, "another name")
}

func TestHandoverTellsWhichProcessReleased(t *testing.T) {
	tab := newTable(Config{Keys: 1, Dist: Uniform()})
	for _, proc := range []int{0, 1, maxProcs - 1} {
		for _, other := range []int{0, 1, maxProcs - 1} {
			tab.released(0, proc, 0)
			_, remote := tab.handover(0, other, 0, ms)
			require.Equal(t, proc != other, remote)
		}
	}
}

func TestNamesOfATableDoNotTouchEachOther(t *testing.T) {
	for _, names := range []int{3, spreadNames + 3} {
		tab := newTable(Config{Keys: names, Dist: Uniform()})
		tab.released(names-1, 1, 5)
		tab.holder(names - 2).Store(7)
		require.EqualValues(t, 6<<procBits|1, tab.words[(names-1)*tab.stride+releaseWord].Load())
		require.Zero(t, tab.holder(names-1).Load())
	}
}

// baton is one lock for all names except the uncontended one. The next waiter gets it some time after
// the call of Release.
type baton struct {
	token chan struct{}
	delay time.Duration
	alone time.Duration // time of an uncontended acquire
}

// inBubble makes the token inside the bubble of virtual time.
func (b *baton) inBubble(ctx context.Context) context.Context {
	b.token = make(chan struct{}, 1)
	b.token <- struct{}{}
	return ctx
}

func (b *baton) Acquire(ctx context.Context, name string, _ time.Duration) (Held, error) {
	if strings.Contains(name, "uncontended") { // not a name of the baton
		time.Sleep(b.alone)
		return noop{}, nil
	}
	select {
	case <-b.token:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *baton) TryAcquire(ctx context.Context, _ string, _ time.Duration) (Held, error) {
	select {
	case <-b.token:
		return b, nil
	case <-time.After(time.Millisecond): // virtual time passes only when all sleep
		return nil, ErrRefused
	}
}

func (b *baton) Release(context.Context) error {
	time.Sleep(b.delay)
	b.token <- struct{}{}
	return nil
}
func (*baton) Until() time.Time { return time.Time{} }
func (*baton) Close() error     { return nil }

func TestHandoverIsWhatTheLockKeepsAWaiterWaiting(t *testing.T) {
	b := &baton{delay: time.Millisecond, alone: 700 * time.Microsecond}
	cfg := Config{Workers: 4, Keys: 1, Dist: Uniform(), Duration: time.Second, Warmup: 100 * time.Millisecond, TTL: time.Second, Hold: Fixed(3 * time.Millisecond)}
	for workers, want := range map[int]int64{4: 250, 1: 0} {
		cfg.Workers = workers
		virtual(t, b.inBubble, b, cfg, func(t *testing.T, r *Result, err error) {
			require.NoError(t, err)
			require.InDelta(t, want, r.Latency[HandoverTime].Count, 2+4, "those that wait at the end get it too")
			if want > 0 {
				require.InEpsilon(t, 1e6, r.Latency[HandoverTime].Min, 0.001)
				require.InEpsilon(t, 1e6, r.Latency[HandoverTime].Max, 0.001)
			}
			require.Nil(t, r.Latency[RemoteHandoverTime], "one process")
			alone := r.Latency[UncontendedTime]
			require.InDelta(t, 1000/15.7, alone.Count, 5, "every 10 to 20 ms, and 0.7 ms itself")
			require.InEpsilon(t, 700e3, alone.Min, 0.001)
			require.InEpsilon(t, 700e3, alone.Max, 0.001)
			require.InDelta(t, 250, r.AcquiredPerS, 2, "nor anywhere else")
			require.Less(t, r.Latency[AcquireTime].Count, int64(260))
		})
	}
	cfg.Op = Try
	virtual(t, b.inBubble, b, cfg, func(t *testing.T, r *Result, err error) {
		require.Nil(t, r.Latency[HandoverTime], "nobody waits")
		require.Nil(t, r.Latency[UncontendedTime])
	})
}

// A waiter may also get the name because the lease of the last holder has ended.
func TestTheEndOfALeaseHandsNothingOver(t *testing.T) {
	holds, err := Sampled("two", []time.Duration{time.Millisecond, 50 * time.Millisecond})
	require.NoError(t, err)
	for _, op := range []Op{AcquireRelease, mixOf(t, "mix:acquire-release=1,try=1")} {
		cfg := Config{Workers: 4, Keys: 1, Dist: Uniform(), Duration: 10 * time.Second, TTL: 20 * time.Millisecond, Hold: holds, Op: op, Seed: 1}
		r := measure(t, newLeases(1, time.Millisecond), cfg)
		require.Greater(t, r.Totals.Outlived, int64(100))
		require.Greater(t, r.Latency[HandoverTime].Count, int64(100))
		require.LessOrEqual(t, r.Latency[HandoverTime].Max, 2*ms, "a waiter asks every 0.5 to 1.5 ms")
	}
}
