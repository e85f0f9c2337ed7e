package result

import (
	"fmt"
	"strconv"

	"muxlock/bench"
)

// thinError is that a percentile rests on too few samples.
type thinError struct{ text string }

func (e thinError) Error() string { return e.text }

// percentile reads one of the percentiles kept, or any from the histogram. The error
// is that there is none, or that it rests on too few samples; in the second case it is
// returned all the same.
func percentile(s *bench.Summary, p float64) (v float64, err error) {
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
		err = thinError{fmt.Sprintf("%.3g of %d samples lie beyond it, %d are needed", beyond, s.Count, bench.TailLeast)}
	}
	return v, err
}
