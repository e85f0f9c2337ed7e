package bench

import "math"

// TailLeast is how many samples must lie beyond a percentile before it means much:
// with fewer it is one or two unlucky operations.
const TailLeast = 10

// Thin reports whether percentile p, such as 99.9, rests on fewer than ten samples
// beyond it, or below it if it is not above the median.
func (s *Summary) Thin(p float64) bool { return s.Count < TailNeeds(p) }

// MoreSeconds is how many more seconds the run would have needed at its pace for
// percentile p of its headline latency to be no longer thin; 0 when it is not, or
// when there is no pace.
func (r *Result) MoreSeconds(p float64) float64 {
	s := r.Headline()
	if s.Count == 0 || !s.Thin(p) {
		return 0
	}
	return math.Ceil(float64(TailNeeds(p)-s.Count) / float64(s.Count) * r.DurationS)
}

// TailNeeds is the least number of samples at which percentile p is not thin.
func TailNeeds(p float64) int64 {
	return int64(math.Ceil(100*TailLeast/min(p, 100-p) - 1e-6)) // 100-99.9 is not quite 0.1
}

// CensoredAt reports whether percentile p is a lower bound, as its latency is censored.
func (s *Summary) CensoredAt(p float64) bool { return amongCensored(p/100, s.Censored, s.Count) }
