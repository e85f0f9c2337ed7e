package sizing

import "math"

// SlewMost is by how many us a second a time daemon may change a clock's rate: the
// kernel's own limit. A clock that is further off was stepped.
const SlewMost = 500

// DriftNeeded is F9: the relative error between clocks that Config.Drift must cover. The
// rates are in us a second against the clock here, each known up to its error; slew is
// what the time daemons of the site may add. Any two clocks may differ, and the clock
// here is one of them: rate 0.
func DriftNeeded(ppm, ppmError []float64, slew float64) float64 {
	lo, hi := 0.0, 0.0
	for i, r := range ppm {
		lo = min(lo, r-ppmError[i])
		hi = max(hi, r+ppmError[i])
	}
	return (hi - lo + math.Abs(slew)) * 1e-6
}
