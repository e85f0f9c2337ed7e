package advice

import (
	"fmt"
	"math"
	"time"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/redlock"
)

// ttl is the interval by F6, the choice in it, and what follows from that.
func (k *maker) ttl() {
	c, eps := &k.out.Config, k.ask.Eps
	t := &k.out.TTL
	safe := k.shortest(k.Acquire, k.hold, k.pause)
	t.Min = ns(safe)
	t.Extrapolated = k.extrapolated(eps / 3)
	// A crashed holder blocks others until its key expires, by a slow clock, and the
	// next one has looked and acquired.
	gap := k.gap()
	longest := (float64(k.ask.RTO)-gap)/(1+k.clocks.Rho) - float64(time.Millisecond)
	t.Max = max(0, int64(roundDown(time.Duration(longest)))) // as it is set
	t.Empty = t.Min > t.Max
	acquire := k.Acquire.Capped(k.patience())
	boole := k.clocks.ShortestBoole(eps, acquire, k.hold, k.pause)
	k.setting("TTL at least", text(boole), "F6", "acquire %s + hold %s + pause %s, each beyond all but eps/3, + %s for clocks",
		text(acquire.Bound(eps/3)), text(k.hold.UpperQuantile(eps/3)), text(k.pause.UpperQuantile(eps/3)), text(boole*k.clocks.Rho+k.clocks.C))
	if least := k.outlasts(); least >= safe {
		k.setting("TTL at least", text(least), "F4", "what decides here: a lease must outlast MasterTimeout")
	}
	k.setting("TTL at most", text(float64(t.Max)), "F6", "a crashed holder may block for %s, of which %s pass until another has the lock", span(k.ask.RTO), text(gap))

	if t.Empty {
		k.renewedTTL()
	} else {
		// The geometric mean: a pause that nobody has seen yet may be as many times
		// longer as the crashed holder's time is below what is allowed.
		ttl, why := math.Sqrt(safe)*math.Sqrt(float64(t.Max)), "for pauses that were not seen yet"
		down := k.withOneDown()
		switch {
		case down > float64(t.Max):
			k.warn("with one master down a TTL of at least %s is needed, and a crashed holder may block for %s only: validity will be lost more often while one is down", text(down), span(k.ask.RTO))
		case down > ttl:
			ttl, why = down, "what is needed while one master is down"
		}
		c.TTL = min(wholeMs(ttl), time.Duration(t.Max))
		k.setting("TTL", span(c.TTL), "-", "between the two: %.1f times the least, %s", float64(c.TTL)/safe, why)
	}
	c.MaxTTL = max(c.TTL, time.Duration(t.Max))
	k.setting("MaxTTL", span(c.MaxTTL), "F15", "no client may ask for more; a restarted master casts no vote for %s", span(redlock.RestartWait(c.MaxTTL, k.clocks.Rho)))
	c.Drift = k.clocks.Rho
	if jump := k.clocks.C - sizing.EngineClocks.C; jump >= float64(time.Millisecond)/2 {
		c.Drift = min(math.Ceil((k.clocks.Rho+jump/float64(c.TTL))*1e4)/1e4, 0.49)
		k.driftWhy = fmt.Sprintf("%v and a jump of %s in a lease of %s", k.clocks.Rho, text(jump), span(c.TTL))
	}
	k.setting("Drift", fmt.Sprint(c.Drift), "F9", "%s", k.driftWhy)
	if float64(c.TTL) > float64(t.Max) {
		k.out.Missed = fmt.Sprintf("not even a renewed lease can be short enough: a crashed holder will block others for up to %s, and --rto asks for %s", text(float64(c.TTL)*(1+k.clocks.Rho)+gap), span(k.ask.RTO))
	}
}

// patience is how long a winning attempt can have taken: MasterTimeout, for each of the
// two trips that fencing may need, and what a lock that is handed over within a process
// has behind it. A longer one fails, and is made again.
func (k *maker) patience() float64 {
	most := k.out.Config.MasterTimeout
	if k.Fencing {
		most *= 2
	}
	if k.shared {
		most += redlock.DefaultHandOverTime
	}
	return float64(most)
}

// follows is what the chosen TTL means for holders.
func (k *maker) follows() {
	c := k.out.Config
	ttl := float64(c.TTL)
	most := k.clocks.LongestHold(ttl, k.ask.Eps, k.Acquire.Capped(k.patience()), k.pause)
	k.setting("longest hold", text(max(0, most)), "F8", "without renewal; longer holds need KeepAlive or Do")
	r, delta := k.renewalOf(c.TTL)
	tight := k.clocks.Shortest(k.ask.Eps, k.Acquire.Capped(k.patience()), k.hold, k.pause, float64(k.out.TTL.Min))
	k.out.TTL.Tight = ns(tight)
	k.setting("renewal every", text(r.Every), "F7", "with KeepAlive or Do, by the engine, 1/%d of TTL; one that fails is tried again after %s, %d tries fit where nothing pauses", redlock.RenewalsPerTTL, text(r.Again), r.Tries(delta, 0))
}

// renewedTTL is for holds that no allowed lease outlasts: F7.
func (k *maker) renewedTTL() {
	c := &k.out.Config
	c.Renew = true
	least := k.clocks.ShortestRenewed(renewalTries, 1.0/redlock.RenewalsPerTTL, 1.0/redlock.RetriesPerTTL, float64(c.MasterTimeout), k.Acquire.UpperQuantile(0.01), k.pause.UpperQuantile(k.ask.Eps))
	least = max(least, k.outlasts())
	if outage, why := k.worstOutage(); outage > 0 {
		need := k.clocks.ShortestSurviving(outage, 1.0/redlock.RenewalsPerTTL, 1.0/redlock.RetriesPerTTL, float64(c.MasterTimeout), k.Acquire.UpperQuantile(0.01))
		if need <= float64(k.out.TTL.Max) {
			least = max(least, need)
		} else {
			k.warn("%s of %s is survived from a TTL of %s on, and a crashed holder may block for %s only: such an outage costs locks", why, text(outage), text(need), span(k.ask.RTO))
		}
	}
	ttl := max(least, math.Sqrt(least)*math.Sqrt(float64(max(k.out.TTL.Max, 1))))
	c.TTL = wholeMs(ttl)
	if longest := time.Duration(k.out.TTL.Max); c.TTL > longest {
		c.TTL = max(longest, wholeMs(least))
	}
	k.warn("no TTL outlasts such holds and lets a crashed holder go within %s: hold with KeepAlive or Do, which renew", span(k.ask.RTO))
	k.setting("TTL", span(c.TTL), "F7", "renewed every 1/%d of it, with room for %d renewals that fail and a pause; at least %s", redlock.RenewalsPerTTL, renewalTries, text(least))
}

// shortest is the lower end of the interval for the given laws; never less than what the
// engine asks for: that a lease outlasts MasterTimeout.
func (k *maker) shortest(acquire, hold *sizing.Law, pause sizing.Pauses) float64 {
	return max(k.clocks.ShortestBoole(k.ask.Eps, acquire.Capped(k.patience()), hold, pause), k.outlasts())
}

// outlasts is the lease that leaves some validity after MasterTimeout.
func (k *maker) outlasts() float64 {
	return k.clocks.TTL(float64(k.out.Config.MasterTimeout) + sizing.EngineClocks.C)
}

// extrapolated is, for each measured part, how it goes on where probabilities of p have
// not been seen.
func (k *maker) extrapolated(p float64) []string {
	said := []string{}
	say := func(name string, l *sizing.Law, p float64, instead string) {
		if !l.Extrapolates(p) {
			return
		}
		if instead == "" {
			shape, of := l.Tail()
			instead = fmt.Sprintf("a Pareto tail of shape %.2f, fitted to the largest %d, gives %s", shape, of, text(l.UpperQuantile(p)))
		}
		said = append(said, fmt.Sprintf("%s: %s has not been seen in %d samples; %s (largest seen %s)", name, chance(p), l.N(), instead, text(l.Max())))
	}
	bound, budget := "", ""
	if !k.Acquire.Reaches(p) {
		bound = fmt.Sprintf("no attempt wins after %s, which MasterTimeout allows", text(k.patience()))
	}
	if !k.pause.Reaches(p) {
		budget = fmt.Sprintf("instead of a guess the longest pause budget, %s", k.ask.Budgets.longestName())
	}
	say("acquire", k.Acquire, p, bound)
	say("hold", k.hold, p, "")
	say("pause", k.pause.Each, p/k.pause.Moments, budget)
	return said
}
