package sizing

import (
	"cmp"
	"math"
	"slices"
	"time"

	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
)

const (
	gapPart      = 0.1 // a hand-over without a wake-up may leave the lock free for this share of the mean hold
	pollsPerTrip = 10  // least round trips between two polls
	longestPoll  = 250 * time.Millisecond
	shortestPoll = 2 * time.Millisecond
	leastSplit   = 100 * time.Microsecond
	unknownSplit = 4 // span in round trips, without probes
)

// shortestHeld returns the least RetryHeld: more frequent polls would be a load.
func shortestHeld(trip time.Duration) time.Duration {
	return RoundUp(min(max(pollsPerTrip*trip, shortestPoll), longestPoll))
}

// retries returns RetryHeld and RetrySplit, and the share of votes that still split. RetryHeld is at
// most longest, unless that is below the least.
func (m Measured) retries(trip, hold, longest time.Duration, waiters int) (held, split time.Duration, votes float64) {
	release, _ := m.Releases.Quantile(0.5)
	undo := trip + cmp.Or(release, trip)
	wanted := gapPart * float64(undo+hold) / HeldGap(time.Second, waiters-1) * float64(time.Second) // a gap is linear in the delay
	held = max(min(RoundUp(min(time.Duration(wanted), longestPoll)), roundDown(longest)), shortestHeld(trip))

	area, span := m.SplitArea(), unknownSplit*trip
	if area > 0 {
		span = time.Duration(BestSpread(area, waiters, float64(undo)))
	}
	split = min(max(RoundUp(span), leastSplit), held)
	return held, split, SplitVotes(area, waiters, float64(split))
}

// gap returns the mean time a lock is free before the first of k waiters polls. Each polls after
// uniform delays Y between from and to, of mean m and width w. At the release each is somewhere in
// a delay, whose rest has the residual law of a renewal process: F(t) = integral to t of P(Y > u)/m.
// The first rest has the mean integral of (1-F)^k. 1-F is 1-t/m up to from, and (to-t)^2/(2wm)
// beyond; at from both are r = w/(2m).
func gap(from, to float64, k int) float64 {
	m, w, n := (from+to)/2, to-from, float64(k)
	r := w / (2 * m)
	return m/(n+1)*(1-math.Pow(r, n+1)) + w*math.Pow(r, n)/(2*n+1)
}

// HeldGap returns the gap, in ns, of k waiters of the engine without wake-ups.
func HeldGap(mean time.Duration, k int) float64 {
	from, to := redlock.HeldDelay(mean)
	return gap(float64(from), float64(to), k)
}

// SplitArea returns the mean length, in ns, of the interval of gaps between two callers at which
// neither gets a quorum. SplitVotes turns it into a share of votes. Two callers can split only an
// even number of masters, so with an odd number the last master is down. The one-way times of a
// caller are half the round trips of a probe, less their common part. The area is 0 if it is not
// known, or if a single master cannot be split.
func (m Measured) SplitArea() float64 {
	q := quorum.Size(m.Masters)
	up := 2 * (q - 1)
	sum, pairs := 0.0, 0
	lead := make([]float64, up) // the second caller gets a master if the gap is shorter
	var first []time.Duration
	for _, r := range m.Rounds {
		second := r.Trips
		if up < 2 || len(second) != m.Masters || slices.Min(second) < 0 {
			continue
		}
		if first != nil {
			for j := range lead {
				lead[j] = max(0, float64((first[j]-slices.Min(first))-(second[j]-slices.Min(second)))/2)
			}
			slices.Sort(lead)
			sum, pairs = sum+lead[q-1]-lead[up-q], pairs+1
		}
		first = second
	}
	return sum / float64(max(pairs, 1))
}

// SplitVotes returns the share of split votes of k callers within span. The gap between two
// callers has density k/span at 0.
func SplitVotes(area float64, k int, span float64) float64 {
	return min(1, float64(k)*area/span)
}

// BestSpread returns the span with the shortest mean time to a decided vote, if a lost round
// costs lost. The first of k callers comes after span/(k+1). A round succeeds with probability
// 1-b/span, b = k*area. (span/(k+1) + lost) / (1 - b/span) is least at b + sqrt(b^2 + b*(k+1)*lost).
func BestSpread(area float64, k int, lost float64) float64 {
	b := float64(k) * area
	return b + math.Sqrt(b*b+b*float64(k+1)*lost)
}
