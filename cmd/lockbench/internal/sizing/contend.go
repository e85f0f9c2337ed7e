package sizing

import (
	"math"
	"time"

	"gonum.org/v1/gonum/integrate/quad"

	"muxlock/internal/redlock"
)

// Polling is waiters that look again after a delay drawn evenly from From to To.
type Polling struct{ From, To float64 }

// RedsyncPolling is what Redsync's waiters do by default, in ns.
var RedsyncPolling = Polling{From: 50e6, To: 250e6}

// Gap is F10: how long a lock lies free before one of k waiters looks. At the moment of
// the release each is somewhere in a delay, so that what is left of it has the residual
// law of a renewal process; the first of k independent ones counts:
//
//	E[W] = integral over t of (1-F_e(t))^k,  F_e(t) = integral to t of P(Y>u)/E[Y]
func (p Polling) Gap(k int) float64 {
	f := func(t float64) float64 { return math.Pow(p.left(t), float64(k)) }
	// For many waiters all is near 0: the pieces become shorter towards it.
	var sum float64
	for from, to := 0.0, p.To/math.Pow(2, 20); from < p.To; from, to = to, min(2*to, p.To) {
		if p.From > from && p.From < to {
			sum += quad.Fixed(f, from, p.From, 16, nil, 0) + quad.Fixed(f, p.From, to, 16, nil, 0)
			continue
		}
		sum += quad.Fixed(f, from, to, 16, nil, 0)
	}
	return sum
}

// left is 1-F_e(t): the probability that more than t is left of a delay.
func (p Polling) left(t float64) float64 {
	mean := (p.From + p.To) / 2
	if t < p.From {
		return 1 - t/mean
	}
	return (p.To - t) * (p.To - t) / (2 * (p.To - p.From) * mean)
}

// HeldPolling is what waiters of the engine do where nothing wakes them: they look again
// after a delay of that mean.
func HeldPolling(mean time.Duration) Polling {
	from, to := redlock.HeldDelay(mean)
	return Polling{float64(from), float64(to)}
}

// SlowestPolling is the mean delay of HeldPolling at which k waiters leave a lock free for
// gap; Gap is linear in the delay.
func SlowestPolling(gap float64, k int) float64 {
	return gap / HeldPolling(time.Second).Gap(k) * float64(time.Second)
}

// Capacity is how many times per ns one name can be acquired: each takes the acquire, the
// hold, the release and the gap of the hand-over.
func Capacity(acquire, hold, release, gap float64) float64 {
	return 1 / (acquire + hold + release + gap)
}
