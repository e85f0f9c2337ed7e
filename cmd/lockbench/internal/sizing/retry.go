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
	gapPart      = 0.1 // of an occupation of the lock may be lost at a hand-over without a wake-up
	pollsPerTrip = 10  // a poll is that many round trips after the last
	longestPoll  = 250 * time.Millisecond
	shortestPoll = 2 * time.Millisecond
	leastSplit   = 100 * time.Microsecond
	unknownSplit = 4 // round trips, where nobody probed
)

// retries is RetryHeld and RetrySplit, and the share of votes that split all the same.
func (m Measured) retries(trip time.Duration, hold Part, waiters int) (held, split time.Duration, votes float64) {
	release, _ := m.Releases.Quantile(0.5)
	undo := trip + cmp.Or(release, trip)
	wanted := gapPart * float64(undo+hold.Took) / HeldGap(time.Second, waiters-1) * float64(time.Second) // a gap is linear in the delay
	held = roundUp(min(max(time.Duration(wanted), pollsPerTrip*trip, shortestPoll), longestPoll))

	area, span := m.SplitArea(), unknownSplit*trip
	if area > 0 {
		span = time.Duration(BestSpread(area, waiters, float64(undo)))
	}
	split = min(max(roundUp(span), leastSplit), held)
	return held, split, SplitVotes(area, waiters, float64(split))
}

// gap is how long a lock lies free before one of k waiters looks, each of which looks again after
// a delay drawn evenly from from to to. At the release each
// is somewhere in a delay of mean m and width w, what is left of it has the residual law of a
// renewal process, F(t) = integral to t of P(Y > u)/m, and the first of them counts: the
// integral of (1-F)^k, whose base is 1-t/m up to from and (to-t)^2/(2wm) beyond, both of which
// are r = w/(2m) at from.
func gap(from, to float64, k int) float64 {
	m, w, n := (from+to)/2, to-from, float64(k)
	r := w / (2 * m)
	return m/(n+1)*(1-math.Pow(r, n+1)) + w*math.Pow(r, n)/(2*n+1)
}

// HeldGap is the gap, in ns, that k waiters of the engine leave where nothing wakes them.
func HeldGap(mean time.Duration, k int) float64 {
	from, to := redlock.HeldDelay(mean)
	return gap(float64(from), float64(to), k)
}

// SplitArea ties the share of split votes to the span that callers are spread over: the mean
// length, in ns, of the gap between two callers at which neither gets a quorum. Only an even
// number of masters can be split by two, so of an odd one the last is down. The one-way times
// of two callers are half the round trips of two probes, without what is common to each; 0:
// it is not known, or one master cannot be split.
func (m Measured) SplitArea() float64 {
	q := quorum.Size(m.Masters)
	up := 2 * (q - 1)
	sum, pairs := 0.0, 0
	lead := make([]float64, up) // the second gets a master as long as the gap is shorter
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

// SplitVotes is the share of split votes of k callers within span: the gap of two of them has
// density k/span at 0.
func SplitVotes(area float64, k int, span float64) float64 {
	return min(1, float64(k)*area/span)
}

// BestSpread is the span that makes the mean time to a decided vote shortest when a lost round
// costs lost. The first of k comes after span/(k+1) and a round succeeds with 1-b/span, b =
// k*area: (span/(k+1) + lost) / (1 - b/span) is least at b + sqrt(b^2 + b*(k+1)*lost).
func BestSpread(area float64, k int, lost float64) float64 {
	b := float64(k) * area
	return b + math.Sqrt(b*b+b*float64(k+1)*lost)
}
