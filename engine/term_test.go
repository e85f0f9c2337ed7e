package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/redlock"
)

const lease10 = 10 * time.Second

// aTerm is a term of ten seconds that begins at the returned instant.
func aTerm() (*term, clock.Instant) {
	base := clock.Now()
	t := newTerm(lease10, redlock.DefaultDrift, base)
	return &t, base
}

// requireNext checks what is to be done at a moment, and, if that is nothing, when to ask again.
func requireNext(t *testing.T, term *term, now clock.Instant, want action, again clock.Instant) {
	t.Helper()
	do, at := term.next(now)
	require.Equal(t, want, do)
	if want == rest {
		require.Zero(t, at.Sub(again), "ask again")
	}
}

func TestTermThatNobodyKeepsOnlyRunsOut(t *testing.T) {
	term, base := aTerm()
	require.Equal(t, redlock.Validity(lease10, 0, redlock.DefaultDrift), term.until.Sub(base))
	requireNext(t, term, base, rest, term.until)
	requireNext(t, term, term.until.Add(-1), rest, term.until)
	requireNext(t, term, term.until, expire, term.until)
	requireNext(t, term, term.until.Add(time.Hour), expire, term.until)
}

func TestTermIsRenewedAtAThirdOrALittleEarlier(t *testing.T) {
	term, base := aTerm()
	term.keep(base, clock.Instant{})
	due, slack := base.Add(lease10/3), redlock.RenewalSlack(lease10)
	requireNext(t, term, base, rest, due)
	requireNext(t, term, due.Add(-slack-1), rest, due)
	requireNext(t, term, due.Add(-slack), renew, due)
	requireNext(t, term, due, rest, term.until) // one renewal at a time

	answered := due.Add(50 * time.Millisecond)
	term.renewed(term.asked, answered)
	require.Equal(t, redlock.Validity(lease10, 0, redlock.DefaultDrift), term.until.Sub(due.Add(-slack)), "counted from when it was sent")
	requireNext(t, term, answered, rest, answered.Add(lease10/3))
}

func TestTermWithLittleLeftIsRenewedSooner(t *testing.T) {
	term, base := aTerm()
	late := base.Add(4 * time.Second)
	term.keep(late, clock.Instant{})
	requireNext(t, term, late, rest, term.until.Add(-lease10/2))

	term, base = aTerm()
	term.keep(base.Add(6*time.Second), clock.Instant{})
	requireNext(t, term, base.Add(6*time.Second), renew, clock.Instant{})
}

func TestFailedRenewalIsRepeatedUntilTheEdge(t *testing.T) {
	term, base := aTerm()
	end := term.until
	term.keep(base, clock.Instant{})
	asked := 0
	for now := base; ; {
		do, again := term.next(now)
		switch do {
		case renew:
			asked++
			require.Less(t, asked, 100)
			term.failed(now, ErrNoQuorum)
			require.Equal(t, end, term.until, "the old end stands")
			require.ErrorIs(t, term.fault, ErrNoQuorum)
			continue
		case rest:
			require.True(t, now.Before(again))
			now = again
			continue
		}
		require.Equal(t, expire, do)
		require.Zero(t, now.Sub(end))
		break
	}
	require.InDelta(t, float64(redlock.RetriesPerTTL)*2/3, asked, 2)

	term, base = aTerm()
	term.keep(base, clock.Instant{})
	now := base.Add(lease10 / 3)
	requireNext(t, term, now, renew, now)
	term.failed(now, ErrNoQuorum)
	requireNext(t, term, now.Add(lease10/redlock.RetriesPerTTL), renew, now)
	term.renewed(term.asked, now.Add(time.Second))
	require.NoError(t, term.fault, "forgotten once a renewal is confirmed")
}

func TestTermStopsRenewingButRunsOn(t *testing.T) {
	term, base := aTerm()
	stop := base.Add(lease10 / 3)
	term.keep(base, stop)
	requireNext(t, term, stop, rest, term.until)
	requireNext(t, term, term.until, expire, term.until)

	term, base = aTerm()
	stop = base.Add(lease10/3 + 1)
	term.keep(base, stop)
	term.keep(base.Add(time.Second), clock.Instant{})
	requireNext(t, term, stop, renew, stop) // the second call takes the stop away
	term.keep(stop, stop)
	term.renewed(term.asked, stop)
	requireNext(t, term, stop.Add(lease10/2), rest, term.until)
}

func TestTermWarnsOncePerRenewal(t *testing.T) {
	const left = 2 * time.Second
	term, base := aTerm()
	term.warn = left
	requireNext(t, term, base, rest, term.until.Add(-left))
	requireNext(t, term, term.until.Add(-left), warn, term.until)
	requireNext(t, term, term.until.Add(-left), rest, term.until)

	now := term.until.Add(-left / 2)
	term.keep(now, clock.Instant{})
	requireNext(t, term, now, renew, now)
	term.failed(now, ErrNoQuorum)
	requireNext(t, term, now, rest, term.renewAt) // not for a failure
	requireNext(t, term, term.renewAt, renew, now)
	term.renewed(term.asked, now)
	term.kept = false
	requireNext(t, term, now, rest, term.until.Add(-left))
	requireNext(t, term, term.until.Add(-left), warn, term.until)
}

func TestExpiryWinsOverAllElse(t *testing.T) {
	term, base := aTerm()
	term.warn = time.Second
	term.keep(base, clock.Instant{})
	requireNext(t, term, term.until, expire, term.until)

	term, base = aTerm()
	term.keep(base, clock.Instant{})
	requireNext(t, term, base.Add(lease10/2), renew, base)
	requireNext(t, term, term.until, expire, term.until) // while a renewal is under way
}

func TestExtendNeverShortensATerm(t *testing.T) {
	term, base := aTerm()
	old := term.until
	term.extended(time.Second, base)
	require.Equal(t, old, term.until)
	term.extended(lease10, base.Add(-time.Second))
	require.Equal(t, old, term.until)
	term.extended(lease10, base.Add(1))
	require.Equal(t, old.Add(1), term.until)
}

// Events in any order. What the masters may be relied on for is what they confirmed: a
// lease of the length that was sent, from when it was sent.
func TestRandomTermIsNeverValidPastWhatTheMastersConfirmed(t *testing.T) {
	type sent struct {
		ttl time.Duration
		at  clock.Instant
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	within := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	did := make(map[action]int)
	for range 2000 {
		now := clock.Now()
		ttl := time.Duration(50+r.IntN(20_000)) * time.Millisecond
		term := newTerm(ttl, redlock.DefaultDrift, now)
		if r.IntN(2) == 0 {
			term.warn = 1 + within(ttl)
		}
		allowed := term.until
		confirm := func(s sent) {
			if end := s.at.Add(redlock.Validity(s.ttl, 0, redlock.DefaultDrift)); allowed.Before(end) {
				allowed = end
			}
		}
		var renewal *sent
		var extends []sent
		over := false
		for step := 0; step < 200 && !over; step++ {
			for n := 0; !over; n++ {
				require.Less(t, n, 4, "seed %d: busy", seed)
				do, again := term.next(now)
				did[do]++
				if do == renew {
					require.Nil(t, renewal, "seed %d: two renewals at once", seed)
					renewal = &sent{term.ttl, now}
				}
				if over = do == expire; over {
					require.True(t, term.until.Reached(now), "seed %d: too early", seed)
				}
				if do == rest {
					require.True(t, now.Before(again), "seed %d: again at once", seed)
					require.False(t, term.until.Before(again), "seed %d: the end is missed", seed)
					if term.kept && renewal == nil {
						require.False(t, term.renewAt.Before(again), "seed %d: a renewal is missed", seed)
					}
					break
				}
			}
			switch r.IntN(8) {
			case 0:
				term.keep(now, clock.Instant{})
			case 1:
				term.keep(now, now.Add(within(3*ttl)))
			case 2:
				e := sent{time.Duration(50+r.IntN(30_000)) * time.Millisecond, now}
				term.ttl = max(term.ttl, e.ttl)
				extends = append(extends, e)
			case 3:
				if n := len(extends); n > 0 {
					e := extends[r.IntN(n)]
					confirm(e)
					term.extended(e.ttl, e.at)
				}
			case 4, 5:
				if renewal != nil {
					confirm(*renewal)
					term.renewed(term.asked, now)
					renewal = nil
				}
			case 6:
				if renewal != nil {
					term.failed(now, ErrNoQuorum)
					renewal = nil
				}
			}
			require.False(t, allowed.Before(term.until), "seed %d: valid %v too long", seed, term.until.Sub(allowed))
			now = now.Add(within(term.ttl / 3))
		}
	}
	t.Logf("rest %d, renew %d, warn %d, expire %d", did[rest], did[renew], did[warn], did[expire])
	require.Len(t, did, 4)
}
