package bench

import (
	"math"
	"strconv"
)

// TailLeast is the number of samples that must lie beyond a percentile. With fewer, the
// percentile shows one or two unlucky operations.
const TailLeast = 10

// Thin reports whether fewer than TailLeast samples lie beyond percentile p, or below it
// for a p up to the median.
func (s *Summary) Thin(p float64) bool { return s.Count < TailNeeds(p) }

// MoreSeconds returns how much longer each of so many rounds should have been, at the pace of this one, for percentile
// p of its headline latency to be no longer thin in all of them together. It returns 0 when that is not thin, or
// when the run has no pace.
func (r *Result) MoreSeconds(p float64, rounds int) float64 {
	count := r.Headline().Count * int64(rounds)
	if count == 0 || count >= TailNeeds(p) {
		return 0
	}
	return math.Ceil(float64(TailNeeds(p)-count) / float64(count) * r.DurationS)
}

// TailNeeds returns the least number of samples at which percentile p is not thin.
func TailNeeds(p float64) int64 {
	return int64(min(math.Ceil(100*TailLeast/min(p, 100-p)-1e-6), 1<<62)) // 100-99.9 is not quite 0.1
}

// Percentile returns a kept percentile (p from 0 to 100), or any other one from the histogram. ok says whether the summary has it.
func (s *Summary) Percentile(p float64) (ns int64, ok bool) {
	if ns, ok = s.P[strconv.FormatFloat(p, 'f', -1, 64)]; ok {
		return ns, true
	}
	h, err := s.Histogram()
	if err != nil || h.Count() == 0 {
		return 0, false
	}
	return h.Percentile(p), true
}

// CensoredAt reports whether percentile p is a lower bound, since its latency is censored.
func (s *Summary) CensoredAt(p float64) bool { return amongCensored(p, s.Censored, s.Count) }
