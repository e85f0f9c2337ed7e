package engine

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

func outcome(v quorum.Verdict, granted uint8) pipeline.Outcome {
	return pipeline.Outcome{Verdict: v, Tally: quorum.Tally{Granted: granted}}
}

func TestNextStepOfAnAttempt(t *testing.T) {
	const ttl, held, split = time.Second, 20 * time.Millisecond, 2 * time.Millisecond
	edge := ttl - redlock.DriftAllowance(ttl, 0.01)
	for _, c := range []struct {
		verdict  quorum.Verdict
		granted  uint8
		elapsed  time.Duration
		hold     bool
		kind     error
		from, to time.Duration
	}{
		{quorum.Won, 3, 0, true, nil, 0, 0},
		{quorum.Won, 3, edge - 1, true, nil, 0, 0},
		{quorum.Won, 3, edge, false, ErrExpired, 10 * time.Millisecond, 30 * time.Millisecond},
		{quorum.Won, 5, time.Hour, false, ErrExpired, 10 * time.Millisecond, 30 * time.Millisecond},
		{quorum.Denied, 0, 0, false, ErrTaken, 0, 0},
		{quorum.Denied, 0, time.Hour, false, ErrTaken, 0, 0},
		{quorum.Denied, 1, 0, false, ErrTaken, 0, split},
		{quorum.Denied, 2, time.Hour, false, ErrTaken, 0, split},
		{quorum.NoQuorum, 0, 0, false, ErrNoQuorum, 10 * time.Millisecond, 30 * time.Millisecond},
		{quorum.NoQuorum, 2, time.Hour, false, ErrNoQuorum, 10 * time.Millisecond, 30 * time.Millisecond},
	} {
		for _, most := range []int{0, 1, 2, 3} {
			t.Run(fmt.Sprintf("%v granted=%d elapsed=%v most=%d", c.verdict, c.granted, c.elapsed, most), func(t *testing.T) {
				a := attempts{ttl: ttl, drift: 0.01, most: most, held: held, split: split}
				for try := 1; try <= 3; try++ {
					s := a.next(outcome(c.verdict, c.granted), c.elapsed)
					require.Equal(t, c.hold, s.hold)
					if c.hold {
						return
					}
					require.Equal(t, c.kind, s.why)
					require.Equal(t, most == 0 || try < most, s.again)
					require.Equal(t, c.verdict == quorum.Denied && (c.granted == 0 || try > 1), s.await)
					if c.to != split {
						require.Equal(t, c.from, s.from)
						require.Equal(t, c.to, s.to)
					}
				}
			})
		}
	}
}

func TestSplitVotesDoubleTheDelayUpToTheHeldOne(t *testing.T) {
	a := attempts{ttl: time.Second, held: 25 * time.Millisecond, split: 2 * time.Millisecond}
	split := outcome(quorum.Denied, 1)
	for _, other := range []quorum.Verdict{quorum.NoQuorum, quorum.Won, quorum.Denied, quorum.NoQuorum} {
		for i, want := range []time.Duration{2, 4, 8, 16, 25, 25, 25} {
			s := a.next(split, 0)
			require.Equal(t, i > 0, s.await)
			require.Zero(t, s.from)
			require.Equal(t, want*time.Millisecond, s.to)
		}
		a.next(outcome(other, 0), time.Second) // anything else starts over
	}
	for range 1000 {
		require.LessOrEqual(t, a.next(split, 0).to, a.held)
	}
	wide := attempts{ttl: time.Second, held: time.Millisecond, split: 8 * time.Millisecond}
	require.Equal(t, 8*time.Millisecond, wide.next(split, 0).to, "never below RetrySplit")
	long := attempts{ttl: time.Second, held: time.Minute, split: time.Minute}
	for range 100 {
		require.Equal(t, time.Minute, long.next(split, 0).to)
	}
}

func TestALeaseBeganBeforeItsFirstCommandOrBeforeItWasHandedOver(t *testing.T) {
	handed := clock.Now()
	sent := handed.Add(time.Second)
	require.Equal(t, sent, sentAt(pipeline.Outcome{Sent: sent}, handed))
	require.Equal(t, handed, sentAt(pipeline.Outcome{}, handed))
}

func TestCrowdIsToldHowLongARefusedAttemptTook(t *testing.T) {
	for granted := range uint8(2) {
		a := attempts{ttl: time.Second}
		a.next(outcome(quorum.Denied, granted), 5*time.Millisecond)
		require.False(t, a.crowd.Stale(20*time.Millisecond))
		require.True(t, a.crowd.Stale(20*time.Millisecond+1))
	}
}

// One master whose ACL is wrong must not make others' answers worthless.
func TestDenialCountsOnlyWhereTooFewMastersCouldDecide(t *testing.T) {
	e := newEngine(Config{Masters: make([]string, 5)}.withDefaults(), willing{}, new(record))
	defer e.Close()
	for verdict, want := range map[quorum.Verdict]struct{ acquire, extend error }{
		quorum.Denied:   {ErrTaken, ErrNotHeld},
		quorum.NoQuorum: {ErrDenied, ErrDenied},
	} {
		out := pipeline.Outcome{Verdict: verdict, Denied: errors.New("NOPERM")}
		s := (&attempts{ttl: time.Second}).next(out, 0)
		require.Equal(t, want.acquire, s.why)
		require.Equal(t, want.acquire == ErrTaken, s.again)
		require.ErrorIs(t, e.masters.refusal(aRelease, out), want.extend)
	}
}
