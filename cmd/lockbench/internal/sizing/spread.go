package sizing

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Spread has the intervals of sizes: another measurement would give sizes in them.
type Spread struct {
	TTL           *Interval `json:"ttl,omitempty"` // not rounded
	MasterTimeout *Interval `json:"master_timeout,omitempty"`
}

// Interval is a 95 % interval.
type Interval struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
}

// WithSpread is Size with intervals from redraws of the measurement. A size decided by a constant
// has none, since it would say nothing. A size decided by the longest time has none, since no
// redraw has a longer one.
func WithSpread(m Measured, ask Ask, redraws int) Sizes {
	s := Size(m, ask)
	t := s.Config.MasterTimeout
	timeout := len(m.Rounds) >= few && s.Quorum.Beyond > 0 && t > LeastTimeout && t < roundDown(ask.RTO/timeoutOfRTO)
	hold := s.Hold.From == Seen && s.Hold.Took < s.Hold.Longest && !s.Config.Renew
	lease := (timeout || hold) && (hold || s.Hold.N == 0 || s.Config.Renew) && s.Pause.From == Assumed && s.Outage.Took == 0
	if !timeout && !lease {
		return s
	}
	if len(m.Rounds) >= few {
		m.Acquires = Times{} // which would stand for the probes where a redraw has too few
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var ttls, timeouts []time.Duration
	for range redraws {
		again := Size(m.redrawn(rng), ask)
		ttls, timeouts = append(ttls, again.Least), append(timeouts, again.Config.MasterTimeout)
	}
	if timeout {
		s.Spread.MasterTimeout = interval(timeouts)
	}
	if lease {
		s.Spread.TTL = interval(ttls)
	}
	return s
}

func interval(all []time.Duration) *Interval {
	slices.Sort(all)
	cut := int(math.Ceil(float64(len(all))*(1-Confidence)/2)) - 1
	return &Interval{From: all[cut], To: all[len(all)-1-cut]}
}
