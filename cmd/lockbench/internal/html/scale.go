package html

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"muxlock/cmd/lockbench/internal/view"
)

func axisText(a view.Axis, v float64) string {
	if a.Text != nil {
		return a.Text(v)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// scale maps values to 0..1. A linear one begins at 0.
type scale struct {
	lo, hi float64
	log    bool
}

// at returns the place of v. It is not finite if v has none.
func (s scale) at(v float64) float64 {
	if s.log {
		return math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return v / s.hi
}

// scaleOf spans all values. It returns false if no value has a place. The scale ends at the last value if exact, else at a
// round value above.
func scaleOf(a view.Axis, exact bool, values ...[]float64) (scale, bool) {
	all := slices.DeleteFunc(slices.Concat(values...), func(v float64) bool { return !finite(v) || v < 0 || v == 0 && a.Log })
	if len(all) == 0 {
		return scale{}, false
	}
	s := scale{slices.Min(all), slices.Max(all), a.Log}
	switch {
	case !a.Log:
		s.lo, s.hi = 0, cmp.Or(s.hi, 1)
		if step := niceAbove(s.hi / 5); !exact {
			s.hi = math.Ceil(s.hi/step-1e-9) * step
		}
	case !exact:
		s.lo, s.hi = 1/niceAbove(1/s.lo), niceAbove(s.hi)
	}
	if s.lo == s.hi {
		s.lo, s.hi = s.lo/2, s.hi*2
	}
	return s, true
}

// niceAbove returns the nearest value that is 1, 2 or 5 times a power of ten.
func niceAbove(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// ticks returns about n round values within the scale. On a logarithmic one they are powers of ten, some of them if they are
// too many, and 2 and 5 times a power if they are few.
func (s scale) ticks(n int) (at []float64) {
	if !s.log {
		step := niceAbove(s.hi / float64(n))
		for i := 0.0; i*step <= s.hi*(1+1e-9); i++ {
			at = append(at, i*step)
		}
		return at
	}
	first, step := niceAbove(s.lo), 1.5
	if decades := math.Log10(s.hi / s.lo); 3*decades > float64(n)+1 {
		first = math.Pow(10, math.Ceil(math.Log10(s.lo)-1e-9))
		step = math.Pow(10, math.Ceil(decades/float64(n)))
	}
	for v := first; v <= s.hi*(1+1e-9); v = niceAbove(v * step) {
		at = append(at, v)
	}
	return at
}
