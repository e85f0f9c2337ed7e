package sizing

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Spread is how far apart the same answer may come out when it is measured again.
type Spread struct {
	TTL           *Interval `json:"ttl,omitempty"`
	MasterTimeout *Interval `json:"master_timeout,omitempty"`
}

// Interval is where a value lies with 95 %.
type Interval struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
}

// WithSpread is Size, and again for each redraw of what was measured. There is no interval of what
// a constant decides, since it would say nothing, nor of what the longest time that was seen
// decides, since no redraw shows one that is longer.
func WithSpread(m Measured, ask Ask, redraws int) Sizes {
	s := Size(m, ask)
	t := s.Config.MasterTimeout
	timeout := len(m.Rounds) >= few && s.Quorum.Beyond > 0 && t > leastTimeout && t < ask.RTO/timeoutOfRTO
	hold := s.Hold.From == Seen && s.Hold.Beyond > 0 && !s.Config.Renew
	lease := (timeout || hold) && (hold || s.Hold.N == 0 || s.Config.Renew) && s.Pause.From == Assumed && s.Outage.Took == 0
	if !timeout && !lease {
		return s
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var ttls, timeouts []time.Duration
	for range redraws {
		again := Size(m.redrawn(rng), ask)
		if again.Config.Renew == s.Config.Renew {
			ttls = append(ttls, again.Least)
		}
		timeouts = append(timeouts, again.Config.MasterTimeout)
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
	return &Interval{all[cut], all[len(all)-1-cut]}
}
