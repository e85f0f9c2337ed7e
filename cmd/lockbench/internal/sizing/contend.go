package sizing

import (
	"math"
	"time"

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
//
// With mean m and width w the base is 1-t/m up to From and (To-t)^2/(2wm) beyond, both of
// which are r = w/(2m) at From: powers of t, so that the integral is a sum of two terms.
func (p Polling) Gap(k int) float64 {
	m, w, n := (p.From+p.To)/2, p.To-p.From, float64(k)
	r := w / (2 * m)
	return m/(n+1)*(1-math.Pow(r, n+1)) + w*math.Pow(r, n)/(2*n+1)
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
