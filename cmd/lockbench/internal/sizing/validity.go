package sizing

import (
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

// LossHolding is the probability that acquiring, holding and a pause, independent of each
// other, outlast the lease together.
func (c Clocks) LossHolding(ttl float64, delta, hold *Law, pause Pauses) (p float64) {
	ds, dmass := delta.cells()
	hs, hmass := hold.cells()
	for i, d := range ds {
		for j, h := range hs {
			if mass := dmass[i] * hmass[j]; mass > cellLeast/100 {
				p += mass * pause.Survival(c.usable(ttl)-d-h)
			}
		}
	}
	return min(p, 1)
}

// ShortestBoole is F6 on the safe side: the lease that a hold outlasts with probability
// at most eps, whatever ties slow acquires, long holds and pauses together. Each of them
// may exceed its bound with a third of eps (Boole's inequality).
func (c Clocks) ShortestBoole(eps float64, delta, hold *Law, pause Pauses) float64 {
	return c.TTL(delta.Bound(eps/3) + hold.UpperQuantile(eps/3) + pause.UpperQuantile(eps/3))
}

// Shortest is F6 for independent ones: the shortest lease that they outlast together with
// probability at most eps, no longer than most.
func (c Clocks) Shortest(eps float64, delta, hold *Law, pause Pauses, most float64) float64 {
	least := 0.0
	for range 30 { // to a billionth
		if ttl := (least + most) / 2; c.LossHolding(ttl, delta, hold, pause) > eps {
			least = ttl
		} else {
			most = ttl
		}
	}
	return most
}

// LongestHold is F8: how long a lock may be held without renewal when the acquire and
// a pause may exceed their bounds with half of eps each; below 0: not at all.
func (c Clocks) LongestHold(ttl, eps float64, delta *Law, pause Pauses) float64 {
	return c.usable(ttl) - delta.Bound(eps/2) - pause.UpperQuantile(eps/2)
}

// Pauses is the pauses that a hold meets: as many as Moments, a mean, each of law Each.
type Pauses struct {
	Each    *Law
	Moments float64
	Least   float64 // shorter ones were not counted: there is always one as long
	Budget  float64 // to be survived where Each does not reach
}

// UpperQuantile is the length that some pause of a hold exceeds with probability at most p,
// by Boole's bound. Beyond what Each reaches it is the longer of that and Budget.
func (g Pauses) UpperQuantile(p float64) float64 {
	each := p / g.Moments
	switch {
	case each >= 1:
		return g.Least
	case g.Reaches(p):
		return max(g.Least, g.Each.UpperQuantile(each))
	}
	return max(g.Least, g.Each.UpperQuantile(1/float64(g.Each.N()*reach)), g.Budget)
}

// Reaches reports whether what was seen tells how long a pause has probability p.
func (g Pauses) Reaches(p float64) bool { return p >= g.Moments || g.Each.Reaches(p/g.Moments) }

// Survival is the probability that some pause is longer than t.
func (g Pauses) Survival(t float64) float64 {
	if t < g.Least {
		return 1
	}
	return min(1, g.Moments*g.Each.Survival(t))
}
