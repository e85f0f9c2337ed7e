package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kept is a lock that can be kept alive. Every everyLost-th one is lost at once.
type kept struct {
	noop
	done chan struct{}
	s    *keepers
}

type keepers struct {
	noop
	everyLost       int64 // 0: none
	acquired, freed atomic.Int64
	names           chan string
}

func (s *keepers) Acquire(_ context.Context, name string, _ time.Duration) (Held, error) {
	time.Sleep(time.Millisecond)
	k := &kept{done: make(chan struct{}), s: s}
	if n := s.acquired.Add(1); s.everyLost > 0 && n%s.everyLost == 0 {
		close(k.done)
	}
	if s.names != nil {
		s.names <- name
	}
	return k, nil
}
func (s *keepers) Counts() Counts {
	n := uint64(s.acquired.Load())
	return Counts{Rounds: n, Commands: 5 * n}
}
func (k *kept) KeepAlive(time.Duration) error { return nil }
func (k *kept) Done() <-chan struct{}         { return k.done }
func (k *kept) Release(context.Context) error {
	k.s.freed.Add(1)
	return nil
}

func TestHoldKeepsEveryNameOnceUntilTheEnd(t *testing.T) {
	for _, everyLost := range []int64{0, 5} {
		s := &keepers{everyLost: everyLost, names: make(chan string, 100)}
		cfg := Config{Workers: 7, Keys: 50, Op: Hold, Duration: time.Second, Warmup: 100 * time.Millisecond, TTL: time.Second}
		r := measure(t, s, cfg)
		names := map[string]bool{}
		for range 50 {
			names[<-s.names] = true
		}
		require.Len(t, names, 50)
		require.Empty(t, s.names)
		require.EqualValues(t, 50, s.freed.Load())
		h := r.Holding
		require.EqualValues(t, 50, h.Held)
		require.EqualValues(t, 50, h.Wanted)
		require.Equal(t, 5.0, h.CommandsPerRound)
		require.Positive(t, h.GoroutinesBefore)
		require.EqualValues(t, 50, r.Latency[AcquireTime].Count)
		require.Zero(t, r.AcquiredPerS, "they were acquired in the warm-up")
		require.InDelta(t, 1, r.Fairness.Jain, 0.01, "of all of them")
		if everyLost == 0 {
			require.True(t, r.Valid.OK, r.Valid.Reasons)
			require.Zero(t, h.Lost)
		} else {
			require.EqualValues(t, 10, h.Lost)
			require.True(t, r.Valid.OK, "what was lost is a finding: %v", r.Valid.Reasons)
			require.EqualValues(t, 10, r.Totals.LostValidity)
			require.EqualValues(t, 10, r.Totals.Outlived)
		}
	}
}

func TestHoldSaysThatTheTimeWasTooShort(t *testing.T) {
	cfg := Config{Workers: 1, Keys: 1000, Op: Hold, Duration: 100 * time.Millisecond, TTL: time.Second}
	r := measure(t, &keepers{}, cfg)
	require.False(t, r.Valid.OK)
	require.InDelta(t, 100, r.Holding.Held, 2)
	require.EqualValues(t, 1000, r.Holding.Wanted)
}

func TestHoldMeasuresTheHeapOfALock(t *testing.T) {
	cfg := Config{Workers: 16, Keys: 16000, Op: Hold, Duration: 3 * time.Second, TTL: time.Second}
	r, err := Run(t.Context(), "test", &keepers{}, cfg)
	require.NoError(t, err)
	require.InDelta(t, 130, r.Holding.HeapBytesPerLock, 100, "a channel and a kept")
}

func TestPartsHoldTheirSharesOfTheNames(t *testing.T) {
	cfg := Config{Workers: 3, Procs: 2, Keys: 20, Op: Hold, KeyPrefix: "k", Duration: 200 * time.Millisecond, TTL: time.Second}
	s := &keepers{names: make(chan string, 100)}
	r := inParts(t, s, cfg)
	require.True(t, r.Valid.OK, r.Valid.Reasons)
	require.EqualValues(t, 20, r.Holding.Held)
	require.Len(t, s.names, 20)
}

func TestAuditFollowsAnExtendedLease(t *testing.T) {
	a := &audit{newTable(Config{Keys: 1, Dist: Uniform()})}
	stamp := a.enter(0, 1, 0, 10*ms, 0, at(0))
	a.renew(0, 1, stamp, 5*ms, 100*ms, at(5*ms))
	a.enter(0, 2, 50*ms, 90*ms, 0, at(50*ms))
	require.EqualValues(t, 1, a.overlaps().Load())

	a = &audit{newTable(Config{Keys: 1, Dist: Uniform()})}
	stamp = a.renew(0, 1, a.enter(0, 1, 0, 10*ms, 0, at(0)), 5*ms, 100*ms, at(5*ms))
	require.True(t, a.leave(0, stamp, 50*ms))
}

// Worker 2 takes the name after the lease of worker 1 has ended. Then Extend of worker 1 succeeds.
func TestAuditSeesALeaseThatIsExtendedWhileAnotherHolds(t *testing.T) {
	for _, begun := range []int64{0, 12} { // seen to begin, and over before it was seen
		a := &audit{newTable(Config{Keys: 1, Dist: Uniform()})}
		stamp := a.enter(0, 1, 0, 10*ms, 0, at(begun*ms))
		other := a.enter(0, 2, 12*ms, 100*ms, 0, at(12*ms))
		require.Zero(t, a.overlaps().Load())
		stamp = a.renew(0, 1, stamp, 15*ms, 90*ms, at(15*ms))
		require.EqualValues(t, 1, a.overlaps().Load())
		require.False(t, a.leave(0, other, 16*ms))
		require.True(t, a.leave(0, stamp, 17*ms))

		a.enter(0, 2, 20*ms, 100*ms, 0, at(20*ms))
		a.renew(0, 1, stamp, 25*ms, 90*ms, at(95*ms)) // seen after it has ended again
		require.EqualValues(t, 1, a.overlaps().Load())
	}
}

// stubborn is a lock whose Extend never fails, although the lease has ended.
type stubborn struct{ *leases }

type stubbornHeld struct{ *lease }

func (l stubborn) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	h, err := l.leases.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return stubbornHeld{h.(*lease)}, nil
}

func (h stubbornHeld) Extend(_ context.Context, ttl time.Duration) error {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	h.until = time.Now().Add(ttl)
	return nil
}

func TestAuditOfARunSeesALeaseThatIsExtendedTooLate(t *testing.T) {
	for hold, violated := range map[time.Duration]bool{8 * time.Millisecond: false, 30 * time.Millisecond: true} { // Extend comes half way
		cfg := Config{Workers: 4, Keys: 1, Dist: Uniform(), Duration: time.Second, TTL: 10 * time.Millisecond, Hold: Fixed(hold), Op: mixOf(t, "mix:extend=1")}
		r := measure(t, stubborn{newLeases(1, time.Millisecond)}, cfg)
		require.Equal(t, violated, r.Safety.Overlaps > 0, hold)
	}
}
