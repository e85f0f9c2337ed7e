package bench

import (
	"fmt"
	"time"
)

// rateSlack is the share of arrivals that may be unstarted or dropped in a run that
// met its rate, and how many may be in any case.
const (
	rateSlack  = 0.01
	leastSlack = 3
)

// The generator has not kept up when at the p99 its own lag is more than half of the
// response, and more than 1 ms: the tail then tells more of it than of the lock. A tenth
// would be nicer, and refused every open loop on two cores that also run five masters,
// at 200 operations a second as at 5000: there threads wait for a core, those of the
// lock as long as those of the generator.
const (
	lagShare = 0.5
	lagFloor = time.Millisecond
)

// judge says what speaks against the figures. A run with op hold has none of a pace,
// and one that keeps a history looks for overlaps: there they need not be exact.
func judge(res *Result, cfg Config, parts []*Part) {
	var panicked, interrupted, growing bool
	for _, p := range parts {
		panicked = panicked || p.Panicked
		interrupted = interrupted || !p.Complete
		growing = growing || p.Growing
	}
	if panicked {
		res.Invalidate(ReasonPanic)
	} else if interrupted {
		res.Invalidate(ReasonInterrupted)
	}
	if res.Totals.Acquired == 0 {
		res.Invalidate(nothing(res.ErrorSamples, parts))
	}
	if h := res.Holding; h != nil && h.Held-h.Lost < h.Wanted {
		res.Invalidate(fmt.Sprintf("%s: %d of %d acquired, %d lost", ReasonNotHeld, h.Held, h.Wanted, h.Lost))
	}
	t, s := res.Totals, max(res.DurationS, 1e-9)
	if float64(t.Offered-t.Started) > max(rateSlack*float64(t.Offered), leastSlack) {
		text := fmt.Sprintf("%s: offered %.1f/s, achieved %.1f/s", ReasonRate, float64(t.Offered)/s, float64(t.Started)/s)
		if t.Dropped > 0 {
			text += fmt.Sprintf(", dropped %.1f/s", float64(t.Dropped)/s)
		}
		res.Invalidate(text)
	}
	if growing {
		res.Invalidate(fmt.Sprintf("%s: arrivals waited longer and longer to be started, offered %.1f/s, achieved %.1f/s",
			ReasonBacklog, float64(t.Offered)/s, res.ThroughputPerS))
	}
	exact := cfg.Op != Hold && cfg.History == 0
	if share := res.LagShare(); exact && share > lagShare {
		res.Invalidate(fmt.Sprintf("%s: at the p99 its own lag is %.0f%% of the response", ReasonGenerator, 100*share))
	}
	ended := !panicked && !interrupted && res.Totals.Acquired > 0
	if s := res.Headline(); exact && ended && s.Thin(99) {
		text := fmt.Sprintf("%s: %d are no base for a p99", ReasonFew, s.Count)
		if more := res.MoreSeconds(99); more > 0 {
			text += fmt.Sprintf(", it needs %.0f s more at this pace", more)
		}
		res.Invalidate(text)
	}
}

// LagShare is the generator's own lag over the response, both at the p99; 0 in a closed
// loop, and for a lag of up to 1 ms.
func (r *Result) LagShare() float64 {
	lag := r.Latency.Lag
	if lag == nil || lag.P["99"] <= int64(lagFloor) {
		return 0
	}
	return float64(lag.P["99"]) / float64(r.Latency.Response.P["99"])
}

// nothing says why nothing was acquired, as far as any call told.
func nothing(errors []string, parts []*Part) string {
	for _, p := range parts {
		if p.Why != "" {
			errors = append(errors, p.Why)
		}
	}
	if len(errors) == 0 {
		return ReasonNothing
	}
	return ReasonNothing + ": " + errors[0]
}
