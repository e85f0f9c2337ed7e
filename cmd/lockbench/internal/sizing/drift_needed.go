package sizing

// A TimeDaemon keeps a clock right by making it run faster or slower.
type TimeDaemon struct {
	Name    string
	Process string  // as the kernel names it, at most 15 bytes
	SlewPPM float64 // the most that it changes a clock's rate by, as it is configured by default
}

// TimeDaemons is what they do at most. The kernel bounds a rate that is set by 500 ppm,
// but not how fast it takes in a phase that it is told: a part of what is left of it in
// every second, 1/2^(2+constant), on top.
//
//	chrony    maxslewrate 83333.333: it sets the kernel's tick, up to 1/12 of it
//	timesyncd up to 0.4 s of phase, constant log2(32)-4: 1/8 of it in the first second
//	ntpd      up to 128 ms of phase, constant 6: 1/256 of it, and 500 ppm of rate
var TimeDaemons = []TimeDaemon{
	{"chrony", "chronyd", 83_333},
	{"systemd-timesyncd", "systemd-timesyn", 50_000},
	{"ntpd", "ntpd", 1000},
}

// SteadySlew is by how much a daemon that has found the right time still changes a rate,
// in us a second. A clock that changes faster is being set.
const SteadySlew = 500

// DriftNeeded is, without what time daemons may add, the relative error between clocks
// that Config.Drift must cover. The rates are in us a second against the clock here, each
// known up to its error. Any two clocks may differ, and the clock here is one of them:
// rate 0.
func DriftNeeded(ppm, ppmError []float64) float64 {
	lo, hi := 0.0, 0.0
	for i, r := range ppm {
		lo = min(lo, r-ppmError[i])
		hi = max(hi, r+ppmError[i])
	}
	return (hi - lo) * 1e-6
}
