package bench

import (
	"fmt"
	"time"
)

// rateSlack is the share of arrivals that may be unstarted in a run that
// met its rate, and how many may be in any case.
const (
	rateSlack  = 0.01
	leastSlack = 3
)

// The generator has not kept up when at the p99 its own lag is more than half of the
// response, and more than 1 ms: the tail then shows more of it than of the lock. A tenth
// would be nicer, and refused every open loop on two cores that also run five masters,
// at 200 operations a second as at 5000: there threads wait for a core, those of the
// lock as long as those of the generator.
const (
	lagShare = 0.5
	lagFloor = time.Millisecond
)

// A stretch without acquisitions is an outage when it has several whole seconds, and so
// many acquisitions are missing in it that chance does not explain it.
const (
	outageLeast  = 2  // seconds
	outageMisses = 20 // acquisitions at the pace of the other seconds
)

// judge collects the reasons why the figures are not valid. A run with op hold has none of a pace,
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
		res.Invalidate(fmt.Sprintf("%s: offered %.1f/s, achieved %.1f/s", ReasonRate, float64(t.Offered)/s, float64(t.Started)/s))
	}
	if growing {
		res.Invalidate(fmt.Sprintf("%s: arrivals waited longer and longer to be started, offered %.1f/s, achieved %.1f/s",
			ReasonBacklog, float64(t.Offered)/s, res.ThroughputPerS))
	}
	if from, to, ok := res.Outage(cfg); ok && !cfg.Outages {
		res.Invalidate(fmt.Sprintf("%s: from %.0f s to %.0f s, as when masters do not vote yet", ReasonOutage, from, to))
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

// Outage is the longest stretch of whole seconds in which nothing was acquired, although
// the rest of the run acquired a lot and nobody holds a lock or pauses that long.
func (r *Result) Outage(cfg Config) (fromS, toS float64, found bool) {
	if cfg.Op == Hold {
		return 0, 0, false
	}
	var acquired int64
	start, end, longest := 0.0, 0.0, 0
	for seconds, i := 0, 0; i < len(r.Series); i++ {
		acquired += r.Series[i].Acquired
		if seconds++; r.Series[i].Acquired > 0 {
			seconds, start = 0, r.Series[i].TS
		} else if seconds > longest {
			longest, fromS, toS = seconds, start, r.Series[i].TS
		}
		end = r.Series[i].TS
	}
	length := toS - fromS
	busy := 3 * cfg.Think.Mean().Seconds()
	if h := r.Latency.Hold; h != nil {
		busy += time.Duration(h.Max).Seconds()
	}
	if acquired == 0 || longest < outageLeast || length <= busy || float64(acquired)*length < outageMisses*(end-length) {
		return 0, 0, false
	}
	return fromS, toS, true
}

// nothing is the reason why nothing was acquired, as far as any call returned one.
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
