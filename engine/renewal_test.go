package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/draw"
)

const lease10 = 10 * time.Second

// aRenewal is that of a lease of ten seconds that begins at the returned instant.
func aRenewal() (*renewal, clock.Instant) {
	base := clock.Now()
	r := newRenewal(lease10, redlock.DefaultDrift, base)
	return &r, base
}

// requireNext checks what is to be done at a moment, and, if that is nothing, when to ask again.
func requireNext(t *testing.T, r *renewal, now clock.Instant, want action, again clock.Instant) {
	t.Helper()
	do, at := r.next(now)
	require.Equal(t, want, do)
	if want == idle {
		require.Zero(t, at.Sub(again), "ask again")
	}
}

func TestLeaseThatNobodyKeepsAliveOnlyRunsOut(t *testing.T) {
	r, base := aRenewal()
	require.Equal(t, redlock.Validity(lease10, 0, redlock.DefaultDrift), r.until.Sub(base))
	requireNext(t, r, base, idle, r.until)
	requireNext(t, r, r.until.Add(-1), idle, r.until)
	requireNext(t, r, r.until, expire, r.until)
	requireNext(t, r, r.until.Add(time.Hour), expire, r.until)
}

func TestLeaseIsRenewedAtAThirdOrALittleEarlier(t *testing.T) {
	r, base := aRenewal()
	r.keep(base, clock.Instant{})
	due, slack := base.Add(lease10/3), redlock.RenewalSlack(lease10)
	requireNext(t, r, base, idle, due)
	requireNext(t, r, due.Add(-slack-1), idle, due)
	requireNext(t, r, due.Add(-slack), renew, due)
	requireNext(t, r, due, idle, r.until) // one renewal at a time

	answered := due.Add(50 * time.Millisecond)
	r.renewed(r.requestedAt, answered)
	require.Equal(t, redlock.Validity(lease10, 0, redlock.DefaultDrift), r.until.Sub(due.Add(-slack)), "counted from when it was sent")
	requireNext(t, r, answered, idle, answered.Add(lease10/3))
}

func TestLeaseWithLittleLeftIsRenewedSooner(t *testing.T) {
	r, base := aRenewal()
	late := base.Add(4 * time.Second)
	r.keep(late, clock.Instant{})
	requireNext(t, r, late, idle, r.until.Add(-lease10/2))

	r, base = aRenewal()
	r.keep(base.Add(6*time.Second), clock.Instant{})
	requireNext(t, r, base.Add(6*time.Second), renew, clock.Instant{})
}

func TestFailedRenewalIsRepeatedUntilTheEdge(t *testing.T) {
	r, base := aRenewal()
	end := r.until
	r.keep(base, clock.Instant{})
	asked := 0
	for now := base; ; {
		do, again := r.next(now)
		switch do {
		case renew:
			asked++
			require.Less(t, asked, 100)
			r.failed(now, ErrNoQuorum)
			require.Equal(t, end, r.until, "the old end stands")
			require.ErrorIs(t, r.fault, ErrNoQuorum)
			continue
		case idle:
			require.True(t, now.Before(again))
			now = again
			continue
		}
		require.Equal(t, expire, do)
		require.Zero(t, now.Sub(end))
		break
	}
	require.InDelta(t, float64(redlock.RetriesPerTTL)*2/3, asked, 2)

	r, base = aRenewal()
	r.keep(base, clock.Instant{})
	now := base.Add(lease10 / 3)
	requireNext(t, r, now, renew, now)
	r.failed(now, ErrNoQuorum)
	requireNext(t, r, now.Add(lease10/redlock.RetriesPerTTL), renew, now)
	r.renewed(r.requestedAt, now.Add(time.Second))
	require.NoError(t, r.fault, "forgotten once a renewal is confirmed")
}

func TestLeaseRunsOnWhenItsRenewalsEnd(t *testing.T) {
	r, base := aRenewal()
	stop := base.Add(lease10 / 3)
	r.keep(base, stop)
	requireNext(t, r, stop, idle, r.until)
	requireNext(t, r, r.until, expire, r.until)

	r, base = aRenewal()
	stop = base.Add(lease10/3 + 1)
	r.keep(base, stop)
	r.keep(base.Add(time.Second), clock.Instant{})
	requireNext(t, r, stop, renew, stop) // the second call takes the stop away
	r.keep(stop, stop)
	r.renewed(r.requestedAt, stop)
	requireNext(t, r, stop.Add(lease10/2), idle, r.until)
}

func TestLeaseIsRenewedForEverIfItsBoundIsTheLongestThereIs(t *testing.T) {
	r, base := aRenewal()
	r.keep(base, base.Add(math.MaxInt64))
	requireNext(t, r, base.Add(lease10/3), renew, base)
	require.True(t, r.kept)
}

func TestHolderIsWarnedOncePerRenewal(t *testing.T) {
	const left = 2 * time.Second
	r, base := aRenewal()
	r.warn = left
	requireNext(t, r, base, idle, r.until.Add(-left))
	requireNext(t, r, r.until.Add(-left), warn, r.until)
	requireNext(t, r, r.until.Add(-left), idle, r.until)

	now := r.until.Add(-left / 2)
	r.keep(now, clock.Instant{})
	requireNext(t, r, now, renew, now)
	r.failed(now, ErrNoQuorum)
	requireNext(t, r, now, idle, r.renewAt) // not for a failure
	requireNext(t, r, r.renewAt, renew, now)
	r.renewed(r.requestedAt, now)
	r.kept = false
	requireNext(t, r, now, idle, r.until.Add(-left))
	requireNext(t, r, r.until.Add(-left), warn, r.until)
}

func TestExpiryWinsOverAllElse(t *testing.T) {
	r, base := aRenewal()
	r.warn = time.Second
	r.keep(base, clock.Instant{})
	requireNext(t, r, r.until, expire, r.until)

	r, base = aRenewal()
	r.keep(base, clock.Instant{})
	requireNext(t, r, base.Add(lease10/2), renew, base)
	requireNext(t, r, r.until, expire, r.until) // while a renewal is under way
}

func TestExtendNeverShortensALease(t *testing.T) {
	r, base := aRenewal()
	old := r.until
	r.extended(time.Second, base)
	require.Equal(t, old, r.until)
	r.extended(lease10, base.Add(-time.Second))
	require.Equal(t, old, r.until)
	r.extended(lease10, base.Add(1))
	require.Equal(t, old.Add(1), r.until)
}

func TestExtendAfterASuspendMovesTheEndOut(t *testing.T) {
	r, base := aRenewal()
	awake := base.AfterSuspend(lease10 - 500*time.Millisecond) // by the monotonic clock all is left
	r.extended(5*time.Second, awake)
	require.Equal(t, redlock.Validity(5*time.Second, 0, redlock.DefaultDrift), r.until.Left(awake))
}

func TestRenewalIsNotPutOffToAfterTheEndByASuspend(t *testing.T) {
	r, base := aRenewal()
	r.keep(base, clock.Instant{})
	requireNext(t, r, base.Add(lease10/3), renew, base)
	awake := base.Add(lease10 / 3).AfterSuspend(lease10 / 2)
	r.failed(awake, ErrNoQuorum)
	r.renewAt = awake.Add(2 * time.Second) // after the end by the clock that went on, before it by the other
	do, again := r.next(awake)
	require.Equal(t, idle, do)
	require.Equal(t, r.until, again)
}

// Events in any order. What the masters may be relied on for is what they confirmed: a
// lease of the length that was sent, from when it was sent.
func TestRandomRenewalsAreNeverValidPastWhatTheMastersConfirmed(t *testing.T) {
	type sent struct {
		ttl time.Duration
		at  clock.Instant
	}
	seed := draw.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	within := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
	did := make(map[action]int)
	for range 2000 {
		now := clock.Now()
		ttl := time.Duration(50+rng.IntN(20_000)) * time.Millisecond
		r := newRenewal(ttl, redlock.DefaultDrift, now)
		if rng.IntN(2) == 0 {
			r.warn = 1 + within(ttl)
		}
		allowed := r.until
		confirm := func(s sent) {
			if end := s.at.Add(redlock.Validity(s.ttl, 0, redlock.DefaultDrift)); allowed.Before(end) {
				allowed = end
			}
		}
		var inFlight *sent
		var extends []sent
		over := false
		for step := 0; step < 200 && !over; step++ {
			for n := 0; !over; n++ {
				require.Less(t, n, 4, "seed %d: busy", seed)
				do, again := r.next(now)
				did[do]++
				if do == renew {
					require.Nil(t, inFlight, "seed %d: two renewals at once", seed)
					inFlight = &sent{r.ttl, now}
				}
				if over = do == expire; over {
					require.True(t, r.until.Reached(now), "seed %d: too early", seed)
				}
				if do == idle {
					require.True(t, now.Before(again), "seed %d: again at once", seed)
					require.False(t, r.until.Before(again), "seed %d: the end is missed", seed)
					if r.kept && inFlight == nil {
						require.False(t, r.renewAt.Before(again), "seed %d: a renewal is missed", seed)
					}
					break
				}
			}
			switch rng.IntN(8) {
			case 0:
				r.keep(now, clock.Instant{})
			case 1:
				r.keep(now, now.Add(within(3*ttl)))
			case 2:
				e := sent{time.Duration(50+rng.IntN(30_000)) * time.Millisecond, now}
				r.ttl = max(r.ttl, e.ttl)
				extends = append(extends, e)
			case 3:
				if n := len(extends); n > 0 {
					e := extends[rng.IntN(n)]
					confirm(e)
					r.extended(e.ttl, e.at)
				}
			case 4, 5:
				if inFlight != nil {
					confirm(*inFlight)
					r.renewed(r.requestedAt, now)
					inFlight = nil
				}
			case 6:
				if inFlight != nil {
					r.failed(now, ErrNoQuorum)
					inFlight = nil
				}
			}
			require.False(t, allowed.Before(r.until), "seed %d: valid %v too long", seed, r.until.Sub(allowed))
			now = now.Add(within(r.ttl / 3))
		}
	}
	t.Logf("idle %d, renew %d, warn %d, expire %d", did[idle], did[renew], did[warn], did[expire])
	require.Len(t, did, 4)
}

func TestHolderIsNotWarnedOfAPauseThatARenewalMakesGood(t *testing.T) {
	const left = lease10 / 3
	r, base := aRenewal()
	r.warn = left
	r.keep(base, clock.Instant{})
	awake := r.until.Add(-lease10 / 10) // both are overdue
	requireNext(t, r, awake, renew, awake)
	requireNext(t, r, awake, idle, awake.Add(redlock.RenewalRetry(lease10)))
	answered := awake.Add(time.Millisecond)
	r.renewed(r.requestedAt, answered)
	requireNext(t, r, answered, idle, r.renewAt)
	require.False(t, r.warned)

	r, base = aRenewal() // the pause began while a renewal was under way
	r.warn = left
	r.keep(base, clock.Instant{})
	requireNext(t, r, base.Add(lease10/3), renew, base)
	awake = r.until.Add(-lease10 / 10)
	requireNext(t, r, awake, idle, awake.Add(redlock.RenewalRetry(lease10)))
	requireNext(t, r, awake.Add(redlock.RenewalRetry(lease10)), warn, base) // it is overdue
}

func TestRenewalUnderWayIsWaitedForWhereTheHolderAsksAgainToBeKept(t *testing.T) {
	r, base := aRenewal()
	r.warn = lease10 / 3
	r.keep(base, base.Add(lease10/2))
	requireNext(t, r, base.Add(lease10/3), renew, base)
	ended := base.Add(lease10 / 2)
	requireNext(t, r, ended, idle, r.until.Add(-r.warn))
	r.keep(ended, clock.Instant{})
	awake := r.until.Add(-lease10 / 10)
	requireNext(t, r, awake, idle, awake.Add(redlock.RenewalRetry(lease10)))
}

func TestHolderIsWarnedAtOnceWhereNoRenewalIsDueBefore(t *testing.T) {
	r, base := aRenewal()
	r.warn = lease10 * 9 / 10
	r.keep(base, clock.Instant{})
	requireNext(t, r, r.until.Add(-r.warn), warn, base)
}

func TestHolderIsWarnedOnceARenewalAfterAPauseHasFailed(t *testing.T) {
	r, base := aRenewal()
	r.warn = lease10 / 3
	r.keep(base, clock.Instant{})
	awake := r.until.Add(-lease10 / 10)
	requireNext(t, r, awake, renew, awake)
	r.failed(awake, ErrNoQuorum)
	requireNext(t, r, awake, warn, awake)
	requireNext(t, r, awake, idle, r.renewAt)
}

func TestHolderIsWarnedBeforeTheEndHoweverLongARenewalTakes(t *testing.T) {
	for _, left := range []time.Duration{lease10 / 3, lease10 / 30, lease10 / 1000} {
		r, base := aRenewal()
		r.warn = left
		r.keep(base, clock.Instant{})
		requireNext(t, r, base.Add(lease10/3), renew, base)
		due := r.until.Add(-left)
		_, again := r.next(due)
		require.GreaterOrEqual(t, r.until.Left(again), left/2)
		requireNext(t, r, again, warn, base)
	}
}
