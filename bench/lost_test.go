package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lapsing gives locks that end some time after they were acquired. It reports a late quorum for every
// tenth attempt.
type lapsing struct {
	noop
	valid    time.Duration
	attempts *atomic.Uint64
}

func (l lapsing) Acquire(context.Context, string, time.Duration) (Held, error) {
	l.attempts.Add(1)
	return until{Time: time.Now().Add(l.valid)}, nil
}

func (l lapsing) Counts() Counts { return Counts{LateQuorum: l.attempts.Load() / 10} }

func TestLocksThatOutlastTheirValidityAreCounted(t *testing.T) {
	run := func(valid time.Duration, hold Span, want func(t *testing.T, all Totals)) {
		cfg := Config{Workers: 2, Hold: hold, Duration: time.Second, Warmup: time.Second, TTL: time.Second}
		r := measure(t, lapsing{valid: valid, attempts: new(atomic.Uint64)}, cfg)
		require.InDelta(t, 200, r.Totals.Acquired, 4)
		require.InDelta(t, 20, r.Totals.LateQuorum, 2, "warm-up left out")
		want(t, r.Totals)
	}
	run(10*time.Millisecond, Fixed(10*time.Millisecond), func(t *testing.T, all Totals) {
		require.Equal(t, all.LateQuorum, all.LostValidity, "valid to the last moment")
	})
	run(10*time.Millisecond-1, Fixed(10*time.Millisecond), func(t *testing.T, all Totals) {
		require.InDelta(t, 200+all.LateQuorum, all.LostValidity, 4)
	})
	run(-time.Hour, Fixed(10*time.Millisecond), func(t *testing.T, all Totals) {
		require.Equal(t, all.LateQuorum, all.LostValidity, "what claims nothing loses nothing")
	})
}
