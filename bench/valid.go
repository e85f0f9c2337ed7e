package bench

import (
	"fmt"
	"slices"
	"time"
)

// A run has met its rate if no more than rateSlack of its arrivals, or leastSlack arrivals,
// were not started.
const (
	rateSlack  = 0.01
	leastSlack = 3
)

// The generator has not kept up if its lag at the p99 is more than half of the response and
// more than 1 ms. The tail then shows more of the generator than of the lock. A limit of a
// tenth refused every open loop on two cores that also run five masters, at 200 and at 5000
// operations a second: there all threads wait for a core, the lock's as long as the
// generator's.
const (
	lagShare = 0.5
	lagFloor = time.Millisecond
)

// Some whole seconds without acquisitions are an outage if so many acquisitions are missing
// that chance does not explain it.
const (
	outageLeast  = 2  // seconds
	outageMisses = 20 // acquisitions at the pace of the other seconds
)

// auditLeast is the number of acquisitions below which a run that looks for overlaps has seen too little.
const auditLeast = 100

// checkValid collects the reasons why the figures are not valid. Latencies need not be exact
// with op hold, or in a run that keeps a history to look for overlaps. The first of the processes that
// report took part since a time into the measured time. What those acquired that were killed is known from their history alone.
func checkValid(res *Result, cfg Config, all figures, since time.Duration) {
	if all.Panicked {
		res.Invalidate(ReasonPanic, "")
	} else if all.Interrupted {
		res.Invalidate(ReasonInterrupted, "")
	}
	acquired := max(res.Totals.Acquired, all.Audited)
	if acquired == 0 && !all.Interrupted {
		res.Invalidate(ReasonNothing, append(res.ErrorSamples, all.Why)[0])
	}
	if h := res.Holding; h != nil && h.Held < h.Wanted {
		res.Invalidate(ReasonNotHeld, fmt.Sprintf("%d of %d acquired", h.Held, h.Wanted))
	}
	t, s := res.Totals, max(res.DurationS, 1e-9)
	if float64(t.Offered-t.Started) > max(rateSlack*float64(t.Offered), leastSlack) {
		res.Invalidate(ReasonRate, fmt.Sprintf("offered %.1f/s, started %.1f/s", float64(t.Offered)/s, float64(t.Started)/s))
	}
	if all.Growing {
		res.Invalidate(ReasonBacklog, fmt.Sprintf("arrivals waited longer and longer to be started, offered %.1f/s, ended %.1f/s",
			float64(t.Offered)/s, res.ThroughputPerS))
	}
	if from, to, ok := res.outage(cfg, since.Seconds()); ok && !cfg.Outages {
		res.Invalidate(ReasonOutage, fmt.Sprintf("from %.0f s to %.0f s, as when masters do not vote yet", from, to))
	}
	exact := cfg.Op != Hold && cfg.History == 0
	if share := res.LagShare(); exact && share > lagShare {
		res.Invalidate(ReasonGenerator, fmt.Sprintf("at the p99 its own lag is %.0f%% of the response", 100*share))
	}
	ended := !all.Panicked && !all.Interrupted && acquired > 0
	if s, rounds := res.Headline(), max(cfg.Rounds, 1); exact && ended && s.Count*int64(rounds) < TailNeeds(99) {
		text := fmt.Sprintf("%d are no base for a p99", s.Count)
		if more := res.MoreSeconds(99, rounds); more > 0 {
			text += fmt.Sprintf(", it needs %.0f s more at this pace", more)
		}
		res.Invalidate(ReasonFew, text)
	}
	if cfg.History > 0 && ended && acquired < auditLeast {
		res.Invalidate(ReasonFew, fmt.Sprintf("%d are no base for an audit", acquired))
	}
}

// LagShare returns the generator's lag over the response, both at the p99. It returns 0 in a
// closed loop, and for a lag of up to 1 ms.
func (r *Result) LagShare() float64 {
	lag := r.Latency[LagTime]
	if lag == nil || lag.P["99"] <= int64(lagFloor) {
		return 0
	}
	return float64(lag.P["99"]) / float64(r.Latency[ResponseTime].P["99"])
}

// outage returns the longest stretch of whole seconds without acquisitions, if chance, holds, pauses and
// stalls do not explain it. It looks at the time since the first of the processes that report took part:
// who acquired before was killed, and is not counted.
func (r *Result) outage(cfg Config, since float64) (fromS, toS float64, found bool) {
	if cfg.Op == Hold {
		return 0, 0, false
	}
	var acquired int64
	start, end, seconds, longest := since, since, 0, 0
	for _, p := range r.Series {
		if p.TS <= since {
			continue
		}
		acquired += p.Acquired
		if seconds++; p.Acquired > 0 || r.stalled(end, p.TS) {
			seconds, start = 0, p.TS
		} else if seconds > longest {
			longest, fromS, toS = seconds, start, p.TS
		}
		end = p.TS
	}
	length := toS - fromS
	busy := 3 * cfg.Think.Mean().Seconds()
	if h := r.Latency[HoldTime]; h != nil {
		busy += time.Duration(h.Max).Seconds()
	}
	if acquired == 0 || longest < outageLeast || length <= busy || float64(acquired)*length < outageMisses*(end-since-length) {
		return 0, 0, false
	}
	return fromS, toS, true
}

// stalled reports whether a process was stalled for most of a time, in seconds as in Series.
func (r *Result) stalled(from, to float64) bool {
	s := r.Client.Stall
	return s != nil && s.Peaks != nil && slices.ContainsFunc(s.Peaks.All, func(k Peak) bool {
		begin := float64(k.AtNs) / 1e9
		return min(to, begin+float64(k.Ns)/1e9)-max(from, begin) > (to-from)/2
	})
}
