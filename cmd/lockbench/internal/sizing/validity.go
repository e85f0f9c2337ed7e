package sizing

import (
	"math"

	"muxlock/internal/redlock"
)

// Clocks is what of a lease is given up because clocks differ: Rho of it, and C.
type Clocks struct {
	Rho float64
	C   float64 // ns
}

// EngineClocks is what the engine gives up by default.
var EngineClocks = Clocks{Rho: redlock.DefaultDrift, C: float64(redlock.Granularity)}

// Validity is F1: how long a lock may still be relied on when its quorum came delta
// after the first send; redis.io calls it MIN_VALIDITY.
func (c Clocks) Validity(ttl, delta float64) float64 { return c.usable(ttl) - delta }

// usable is the part of a lease that is left after the allowance for the clocks.
func (c Clocks) usable(ttl float64) float64 { return ttl - (c.Rho*ttl + c.C) }

// TTL is the lease with that much usable time.
func (c Clocks) TTL(usable float64) float64 { return (usable + c.C) / (1 - c.Rho) }

// LossAtAcquire is F5: the probability that a quorum comes so late that not even least
// of the validity is left.
func (c Clocks) LossAtAcquire(ttl, least float64, delta *Law) float64 {
	return delta.Survival(c.Validity(ttl, least))
}

// SeenAtAcquire is F5 in the samples themselves, for an interval: how many of how many.
func (c Clocks) SeenAtAcquire(ttl, least float64, delta *Law) (lost, n int64) {
	return int64(delta.SampleSurvival(c.Validity(ttl, least))*float64(delta.n) + 0.5), delta.n
}

// LossHolding is the probability that acquiring, holding and a pause together, with
// the law that Sum gives, outlast the lease.
func (c Clocks) LossHolding(ttl float64, together *Law) float64 {
	return together.Survival(c.usable(ttl))
}

// ShortestBoole is F6 on the safe side: the lease that a hold outlasts with probability
// at most eps, whatever ties slow acquires, long holds and pauses together. Each of them
// may exceed its bound with a third of eps (Boole's inequality).
func (c Clocks) ShortestBoole(eps float64, delta, hold *Law, pause Pauses) float64 {
	return c.TTL(delta.UpperQuantile(eps/3) + hold.UpperQuantile(eps/3) + pause.UpperQuantile(eps/3))
}

// Shortest is F6 for independent ones: the quantile of their sum.
func (c Clocks) Shortest(eps float64, together *Law) float64 {
	return c.TTL(together.UpperQuantile(eps))
}

// LongestHold is F8: how long a lock may be held without renewal when the acquire and
// a pause may exceed their bounds with half of eps each; below 0: not at all.
func (c Clocks) LongestHold(ttl, eps float64, delta *Law, pause Pauses) float64 {
	return c.usable(ttl) - delta.UpperQuantile(eps/2) - pause.UpperQuantile(eps/2)
}

// Pauses is the pauses that a hold meets, of which the longest counts: Moments of it,
// each of which draws a pause of law Each. A meter that sleeps 10 ms at a time sees one
// moment in each of them.
type Pauses struct {
	Each    *Law
	Moments float64 // a mean will do: Boole's bound is linear in it
}

// UpperQuantile is the length that some pause of a hold exceeds with probability at most p.
func (g Pauses) UpperQuantile(p float64) float64 { return g.Each.UpperQuantile(p / max(g.Moments, 1)) }

// Survival is an upper bound of the probability that some pause is longer than t.
func (g Pauses) Survival(t float64) float64 {
	return min(1, max(g.Moments, 1)*g.Each.Survival(t))
}

// Law is the law of the longest pause of a hold, its moments independent. That Moments
// is a mean makes it longer, if anything: 1-(1-p)^m is concave in m.
func (g Pauses) Law() *Law {
	return Exact(func(p float64) float64 {
		return g.Each.UpperQuantile(-math.Expm1(math.Log(p) / max(g.Moments, 1)))
	})
}
