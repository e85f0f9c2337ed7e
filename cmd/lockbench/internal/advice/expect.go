package advice

import (
	"fmt"
	"math"
	"time"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/quorum"
)

const (
	confidence    = 0.95
	rollUp        = "F18"
	lateQuorum    = "F5"
	leastReported = 1e-12 // an extrapolation to less is not worth reporting; also a law ends there
	oftenFails    = 0.01  // of the attempts
	farAbove      = 10    // times what is accepted
)

// expect is how often it will still go wrong.
func (k *maker) expect() {
	ttl := float64(k.out.Config.TTL)
	acquire := k.lossAtAcquire(ttl)
	hold := Chance{Name: "validity lost while held, without renewal", Formula: "F6"}
	hold.P = k.clocks.LossHolding(ttl, k.Acquire.Capped(k.patience()), k.hold, k.pause)
	hold.Hi, hold.N = k.atMost(ttl - k.clocks.Rho*ttl - k.clocks.C)
	hold.Extrapolated = hold.N > 0 && hold.P < 1/float64(hold.N)
	hour := k.renewed("validity lost in an hour with KeepAlive", float64(time.Hour))
	acquire, hold, attempt := acquire.reported(), hold.reported(), k.attempt().reported()
	if k.out.Config.Renew {
		hold = k.renewed("validity lost while held, with KeepAlive", k.hold.Mean())
	}
	k.out.Expected = append(k.out.Expected, acquire, hold, attempt, hour)
	if attempt.P > oftenFails {
		k.warn("%s of the attempts find no quorum within MasterTimeout: masters are down or too slow", chance(attempt.P))
	}
	k.splits()
	k.out.Expected = append(k.out.Expected, Chance{Name: "restarted masters forget the lock (they stay out for MaxTTL)", Formula: "F15"})
	all := Chance{Name: "lost per acquisition, of any cause above", Formula: rollUp, P: sizing.Together(acquire.P, hold.P)}
	all.Hi, all.N, all.Extrapolated = min(1, acquire.Hi+hold.Hi), hold.N, hold.Extrapolated || acquire.Extrapolated
	k.out.Expected = append(k.out.Expected, all)
	if all.P > farAbove*k.ask.Eps {
		k.warn("%s of the acquisitions will be lost, far more than the %s that may be", chance(all.P), chance(k.ask.Eps))
	}
	if k.ask.Rate > 0 {
		n := k.ask.Rate * 86400
		day := func(p float64) float64 { return -math.Expm1(n * math.Log1p(-min(p, 1))) }
		k.out.Expected = append(k.out.Expected, Chance{Name: fmt.Sprintf("at least one lost a day at %g/s", k.ask.Rate), Formula: rollUp, P: day(all.P), Hi: day(all.Hi), N: all.N, Extrapolated: all.Extrapolated})
	}
	k.hottest()
}

// reported is the chance as it is reported.
func (c Chance) reported() Chance {
	if c.Extrapolated {
		c.P = max(c.P, leastReported)
	}
	return c
}

func (k *maker) lossAtAcquire(ttl float64) Chance {
	c := Chance{Name: "quorum too late, seen at acquire", Formula: lateQuorum, P: k.clocks.LossAtAcquire(ttl, 0, k.Acquire.Capped(k.patience()))}
	lost, n := k.clocks.SeenAtAcquire(ttl, 0, k.Acquire)
	c.Lo, c.Hi = sizing.ClopperPearson(lost, n, confidence)
	c.N, c.Extrapolated = n, k.Acquire.Extrapolates(c.P)
	return c
}

// atMost bounds by samples alone that acquire, hold and pause outlast usable: then at
// least one of them is longer than its share of it, in proportion to the largest seen.
func (k *maker) atMost(usable float64) (hi float64, n int64) {
	pauses := max(k.pause.Moments, 1)
	sum := k.Acquire.Max() + k.hold.Max() + k.pause.Each.Max()
	for _, part := range []struct {
		law   *sizing.Law
		times float64
	}{{k.Acquire, 1}, {k.hold, 1}, {k.pause.Each, pauses}} {
		l := part.law
		seen := l.SampleSurvival(l.Max() * usable / sum)
		if l.N() == 0 {
			hi += seen * part.times
			continue
		}
		_, most := sizing.ClopperPearson(int64(math.Round(seen*float64(l.N()))), l.N(), confidence)
		hi += most * part.times
		if n == 0 || l.N() < n {
			n = l.N()
		}
	}
	return min(hi, 1), n
}

// attempt is F4: attempts that fail because masters take longer than MasterTimeout; they
// are made again.
func (k *maker) attempt() Chance {
	tau := float64(k.out.Config.MasterTimeout)
	c := Chance{Name: "attempt without quorum within MasterTimeout (tried again)", Formula: "F4"}
	law, n := k.Acquire, k.Acquire.N()
	failed, lost := 0.0, int64(0)
	if len(k.Rows) > 0 {
		law, failed = k.Rows.QuorumTime(quorum.Size(k.Masters))
		n = int64(len(k.Rows))
		lost = int64(math.Round(failed * float64(n)))
	}
	c.P = 1
	if law != nil {
		lost += int64(math.Round(law.SampleSurvival(tau) * float64(law.N())))
		c.P = failed + (1-failed)*law.Survival(tau)
		c.Extrapolated = c.P > 0 && c.P*float64(n) < 1
	}
	c.Lo, c.Hi = sizing.ClopperPearson(lost, n, confidence)
	c.N = n
	return c
}

// renewed is F7, in that time of holding: tries that fail by themselves, pauses of the
// client, and outages as often as they were seen.
func (k *maker) renewed(name string, holding float64) Chance {
	r, delta := k.renewalOf(k.out.Config.TTL)
	alone := sizing.Within(r.Loss(k.attempt().P, delta, k.pauses(r.Every, sizing.ShapePrior)), holding, r.Every)
	seen := 0.0
	for _, o := range k.outages() {
		seen += r.LostTo(o.Length, delta)
	}
	lo, hi := sizing.PoissonInterval(seen, spreadConfidence)
	within := func(losses float64) float64 {
		return sizing.Together(alone, -math.Expm1(-losses*holding/max(k.Length, 1)))
	}
	return Chance{Name: name, Formula: "F7", P: within(seen), Lo: within(lo), Hi: within(hi), N: int64(len(k.Rows)), Extrapolated: seen == 0}.reported()
}

func (k *maker) splits() {
	c := k.out.Config
	add := func(name string, a *sizing.SplitArea) {
		if a == nil {
			return
		}
		p := a.Probability(k.contenders, float64(c.RetrySplit))
		e := 0.0
		if a.Area > 0 {
			e = 2 * a.Error / a.Area * p
		}
		k.out.Expected = append(k.out.Expected, Chance{Name: name, Formula: "F13", P: p, Lo: max(0, p-e), Hi: min(1, p+e), N: int64(len(k.Rows))})
	}
	add(fmt.Sprintf("vote of %d split, spread over RetrySplit, all masters up", k.contenders), k.splitUp)
	add(fmt.Sprintf("vote of %d split, spread over RetrySplit, one master down", k.contenders), k.splitDown)
	if k.Masters > 1 {
		k.out.Expected = append(k.out.Expected, Chance{
			Name: fmt.Sprintf("vote of %d split, asked at the same moment", k.contenders), Formula: "F13",
			P: sizing.SplitAtOnce(k.contenders, k.Masters, quorum.Size(k.Masters)),
		})
	}
}
