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

	gaps, span := m.SplitGaps(), unknownSplit*trip
	if SplitVotes(gaps, waiters, 1) > 0 {
		span = time.Duration(BestSpread(gaps, waiters, float64(undo)))
	}
	split = min(max(RoundUp(span), leastSplit), held)
	return held, split, SplitVotes(gaps, waiters, float64(split))
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

// SplitGaps returns the length, in ns, of the interval of gaps between two callers at which neither
// gets a quorum, for each two probes in a row. Two callers can split only an even number of masters,
// so with an odd number the last master is down. The one-way times of a caller are half the round
// trips of a probe, less their common part. It is empty if it is not known, or if a single master
// cannot be split.
func (m Measured) SplitGaps() (gaps []float64) {
	q := quorum.Size(m.Masters)
	up := 2 * (q - 1)
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
			gaps = append(gaps, lead[q-1]-lead[up-q])
		}
		first = second
	}
	return gaps
}

// SplitVotes returns the share of split votes of k callers within span. The gap between two
// callers has density k/span at 0, so an interval of span/k splits all votes.
func SplitVotes(gaps []float64, k int, span float64) float64 {
	sum := 0.0
	for _, gap := range gaps {
		sum += min(1, float64(k)*gap/span)
	}
	return sum / float64(max(len(gaps), 1))
}

// BestSpread returns the span with the shortest mean time to a decided vote, if a lost round
// costs lost. The first of k callers comes after span/(k+1). Let all intervals but the shortest
// ones, a share of w with mean b/k, split whatever the span. A round then succeeds with probability
// w*(1-b/span), and (span/(k+1) + lost) / (w*(1-b/span)) is least at b + sqrt(b^2 + b*(k+1)*lost).
// The shortest of these times is the true one, since no wrong choice of intervals shortens one.
func BestSpread(gaps []float64, k int, lost float64) (best float64) {
	gaps, sum, shortest := slices.Sorted(slices.Values(gaps)), 0.0, math.Inf(1)
	for i, gap := range gaps {
		n := float64(i + 1)
		sum += gap
		b := float64(k) * sum / n
		span := b + math.Sqrt(b*b+b*float64(k+1)*lost)
		wins := n / float64(len(gaps)) * (1 - b/max(span, 1))
		if took := (span/float64(k+1) + lost) / wins; took < shortest {
			best, shortest = span, took
		}
	}
	return best
}
