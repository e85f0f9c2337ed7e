package html

import (
	"math"
	"strconv"

	"muxlock/cmd/lockbench/internal/view"
)

func axisText(a view.Axis, v float64) string {
	if a.Text != nil {
		return a.Text(v)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// ticks returns about n values on the axis, within the scale.
func ticks(s scale, n int) []float64 {
	if s.log {
		return logTicks(s.lo, s.hi, n)
	}
	return every(s.lo, s.hi, niceAbove((s.hi-s.lo)/float64(n)))
}

// scale maps values to 0..1.
type scale struct {
	lo, hi float64
	log    bool
}

// at returns the place of v; NaN if it has none.
func (s scale) at(v float64) float64 {
	if s.log {
		if v <= 0 {
			return math.NaN()
		}
		return (math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	}
	return (v - s.lo) / (s.hi - s.lo)
}

// scaleOf spans all values, and 0 on a linear axis. It returns false if no value has a place. The
// scale ends at the last value if exact, else at a round value above.
func scaleOf(a view.Axis, exact bool, values ...[]float64) (scale, bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, vs := range values {
		for _, v := range vs {
			if finite(v) && (v > 0 || !a.Log) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if math.IsInf(lo, 0) {
		return scale{}, false
	}
	if a.Log {
		if !exact {
			lo, hi = niceBelow(lo), niceAbove(hi)
		}
		if lo == hi {
			lo, hi = lo/2, hi*2
		}
		return scale{lo, hi, true}, true
	}
	lo, hi = min(lo, 0), max(hi, 0)
	if lo == hi {
		hi = 1
	}
	if !exact {
		step := niceAbove((hi - lo) / 5)
		lo, hi = math.Floor(lo/step+1e-9)*step, math.Ceil(hi/step-1e-9)*step
	}
	return scale{lo, hi, false}, true
}

// niceAbove and niceBelow return the nearest value that is 1, 2 or 5 times a power of ten.
func niceAbove(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func niceBelow(v float64) float64 { return 1 / niceAbove(1/v) }

// every returns the multiples of step from lo to hi.
func every(lo, hi, step float64) (at []float64) {
	for i := int(math.Ceil(lo/step - 1e-9)); float64(i)*step <= hi+step*1e-9; i++ {
		at = append(at, float64(i)*step)
	}
	return at
}

// logTicks returns powers of ten. It leaves some out if they are too many, and adds 2 and 5 times
// a power if they are few.
func logTicks(lo, hi float64, n int) (at []float64) {
	first, step := niceAbove(lo), 1.5
	if decades := math.Log10(hi / lo); 3*decades > float64(n)+1 {
		first = math.Pow(10, math.Ceil(math.Log10(lo)-1e-9))
		step = math.Pow(10, math.Ceil(decades/float64(n)))
	}
	for v := first; v <= hi*(1+1e-9) && len(at) <= 2*n; v = niceAbove(v * step) {
		at = append(at, v)
	}
	return at
}
