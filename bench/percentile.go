package bench

import (
	"fmt"
	"math"
	"strconv"
)

// tailLeast is how many samples must lie beyond a percentile before it means much:
// with fewer it is one or two unlucky operations.
const tailLeast = 10

// Thin reports whether percentile p, such as 99.9, rests on fewer than ten samples
// beyond it, or below it if it is not above the median.
func (s *Summary) Thin(p float64) bool { return s.Count < tailNeeds(p) }

// MoreSeconds is how many more seconds the run would have needed at its pace for
// percentile p of its headline latency to be no longer thin; 0 when it is not, or
// when there is no pace.
func (r *Result) MoreSeconds(p float64) float64 {
	s := r.Headline()
	if s.Count == 0 || !s.Thin(p) {
		return 0
	}
	return math.Ceil(float64(tailNeeds(p)-s.Count) / float64(s.Count) * r.DurationS)
}

// tailNeeds is the least number of samples at which percentile p is not thin.
func tailNeeds(p float64) int64 {
	return int64(math.Ceil(100*tailLeast/min(p, 100-p) - 1e-6)) // 100-99.9 is not quite 0.1
}

// CensoredAt reports whether percentile p is a lower bound, as its latency is censored.
func (s *Summary) CensoredAt(p float64) bool { return amongCensored(p/100, s.Censored, s.Count) }

// thinError is that a percentile rests on too few samples.
type thinError struct{ text string }

func (e thinError) Error() string { return e.text }

// Percentile reads one of the percentiles kept, or any from the histogram. The error
// is that there is none, or that it rests on too few samples; in the second case it is
// returned all the same.
func (s *Summary) Percentile(p float64) (v float64, err error) {
	kept, ok := s.P[strconv.FormatFloat(p, 'f', -1, 64)]
	v = float64(kept)
	if !ok {
		if h, broken := s.Histogram(); broken == nil && h.Count() > 0 {
			v = float64(h.Quantile(p / 100))
		} else {
			err = fmt.Errorf("the result keeps no such percentile")
		}
	}
	if s.Thin(p) {
		beyond := float64(s.Count) * min(p, 100-p) / 100
		err = thinError{fmt.Sprintf("%.3g of %d samples lie beyond it, %d are needed", beyond, s.Count, tailLeast)}
	}
	return v, err
}
