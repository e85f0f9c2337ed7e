package engine

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

func outcome(v quorum.Verdict, granted uint8) pipeline.Outcome {
	return pipeline.Outcome{Verdict: v, Tally: quorum.Tally{Granted: granted}}
}

func TestNextStepOfAnAttempt(t *testing.T) {
	const ttl, held, split = time.Second, 20 * time.Millisecond, 2 * time.Millisecond
	edge := ttl - allowance(ttl, 0.01)
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
					require.Equal(t, c.kind, s.kind)
					require.Equal(t, most == 0 || try < most, s.again)
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
	for range 2 {
		for i, want := range []time.Duration{2, 4, 8, 16, 25, 25, 25} {
			s := a.next(split, 0)
			require.Equal(t, i > 0, s.await)
			require.Zero(t, s.from)
			require.Equal(t, want*time.Millisecond, s.to)
		}
		a.next(outcome(quorum.NoQuorum, 0), 0) // anything else starts over
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

func TestJitterStaysBetweenItsBounds(t *testing.T) {
	for _, c := range [][2]time.Duration{
		{0, 0}, {0, 1}, {0, 999}, {0, time.Microsecond}, {10 * time.Millisecond, 30 * time.Millisecond},
		{30 * time.Second, 90 * time.Second}, {time.Minute, time.Minute}, {0, 2 * time.Hour},
	} {
		seen := make(map[time.Duration]bool)
		for range 1000 {
			d := jitter(c[0], c[1])
			require.GreaterOrEqual(t, d, c[0])
			require.LessOrEqual(t, d, c[1])
			seen[d] = true
		}
		if c[1]-c[0] > 10*time.Millisecond {
			require.Greater(t, len(seen), 100, "random")
		}
	}
}

func TestValidityIsRoundedAgainstUs(t *testing.T) {
	require.Equal(t, time.Second-10*time.Millisecond-2*time.Millisecond-1, validity(time.Second, 0, 0.01))
	require.Equal(t, 5*time.Millisecond-2*time.Millisecond-1, validity(5*time.Millisecond, 0, 0))
	require.Negative(t, validity(time.Second, time.Second, 0))
	require.Negative(t, validity(time.Second, time.Hour, 0.01))
	require.Negative(t, validity(time.Millisecond, 0, 0.01))
	require.Negative(t, validity(2*time.Millisecond, 0, 0), "all of it may be the masters' rounding")
	for ttl := time.Millisecond; ttl <= longestTTL; ttl = ttl*3 + 1 {
		for _, drift := range []float64{0, 1e-9, 0.001, 0.01, 0.1, 1.0 / 3, math.Nextafter(0.5, 0)} {
			exact := float64(ttl)*drift + float64(2*time.Millisecond)
			require.GreaterOrEqual(t, float64(allowance(ttl, drift)), exact)
			require.LessOrEqual(t, float64(allowance(ttl, drift)), exact*(1+1e-9)+2)
			require.Less(t, validity(ttl, 0, drift), ttl)
			require.Equal(t, validity(ttl, 0, drift)-7, validity(ttl, 7, drift))
		}
	}
}
