package bench

import (
	"cmp"
	"slices"
)

// Merge makes the result of a run from the parts of all its processes, in their order.
func Merge(impl string, cfg Config, parts []*Part) *Result {
	res := &Result{
		Impl:         impl,
		Round:        1,
		Workers:      cfg.Workers,
		Procs:        cfg.procs(),
		Keys:         cfg.keys(),
		Seed:         cfg.Seed,
		Series:       mergeSeries(parts),
		Valid:        Valid{OK: true, Reasons: []Reason{}},
		ErrorSamples: []string{},
	}
	res.Drain = mergeDrain(parts)
	all := newHists(cfg)
	var cycles, acquired int64
	var waits waits
	var shares []int64
	var seen samples
	var holding holdingPart
	var stall *Histogram
	var stalls *Peaks
	for _, p := range parts {
		res.DurationS = max(res.DurationS, p.Elapsed.Seconds())
		res.Totals.add(p.Totals)
		cycles += p.Cycles
		all.each(&p.Latency, (*Histogram).Merge)
		waits.add(p.Waits)
		shares = append(shares, p.Shares...)
		acquired += p.Replaced
		res.Fairness.PerProc = append(res.Fairness.PerProc, p.Totals.Acquired)
		res.Safety.Unaudited = p.Unaudited || cfg.Op == Hold
		res.Safety.Overlaps = max(res.Safety.Overlaps, p.Overlaps)
		res.Safety.FenceViolations = max(res.Safety.FenceViolations, p.FenceViolations)
		res.History = append(res.History, p.History...)
		if p.Holding != nil {
			holding.add(p.Holding)
			res.Holding = holding.result()
		}
		if cfg.Kept > 0 {
			res.Kept = cmp.Or(res.Kept, new(Kept))
			res.Kept.add(p.Kept)
		}
		res.Client.CPUNsPerOp += p.Client.CPUNsPerOp
		res.Client.AllocsPerOp += p.Client.AllocsPerOp
		res.Client.GCP99Ns = max(res.Client.GCP99Ns, p.Client.GCP99Ns)
		res.Client.SchedP99Ns = max(res.Client.SchedP99Ns, p.Client.SchedP99Ns)
		res.Client.CPUShare += p.Client.CPUShare
		stall = merged(stall, p.Stall)
		stalls = mergePeaks(stalls, p.Stalls)
		for _, text := range p.ErrorSamples {
			seen.keep(text)
		}
	}
	for _, i := range res.Series {
		res.ThroughputPerS += float64(i.Cycles) / res.DurationS
	}
	if res.DurationS > 0 && res.Holding == nil { // op hold acquires in the warm-up as well
		for _, share := range shares {
			acquired += share
		}
		res.AcquiredPerS = float64(acquired) / res.DurationS
	}
	if cycles > 0 {
		res.Client.CPUNsPerOp /= float64(cycles)
		res.Client.AllocsPerOp /= float64(cycles)
	} else {
		res.Client.CPUNsPerOp, res.Client.AllocsPerOp = 0, 0
	}
	res.Client.Stall = stall.Summary()
	if res.Client.Stall != nil {
		res.Client.Stall.Peaks = stalls
	}
	res.Latency = all.summaries()
	res.Fairness.Jain = Jain(shares)
	res.Fairness.MaxWaitNs = waits.Longest
	res.Fairness.MeanWaitNs = waits.Sum / max(waits.Count, 1)
	res.ErrorSamples = append(res.ErrorSamples, seen.texts...)
	slices.SortStableFunc(res.History, func(a, b Event) int { return cmp.Compare(a.FromNs, b.FromNs) })
	checkValid(res, cfg, parts)
	return res
}

// merged adds up two histograms, either of which may be nil. It may change the first.
func merged(h, g *Histogram) *Histogram {
	if h == nil || g == nil {
		return cmp.Or(h, g)
	}
	h.Merge(g)
	return h
}

// mergeSeries adds up the seconds of all parts. If a process paused, its late interval counts in the second in which the
// interval ends, and the seconds of the pause have the counts of the other processes. One process alone keeps its intervals.
func mergeSeries(parts []*Part) []Point {
	var seconds [][]Interval
	for _, p := range parts {
		for n, i := range p.Series {
			if len(parts) > 1 {
				n = max(n, int(i.TS+0.5)-1)
			}
			for len(seconds) <= n {
				seconds = append(seconds, nil)
			}
			seconds[n] = append(seconds[n], i)
		}
	}
	series := make([]Point, len(seconds))
	for n, all := range seconds {
		if len(all) > 0 {
			series[n] = mergePoint(all)
		}
		if len(parts) > 1 && n < len(seconds)-1 {
			series[n].TS = float64(n + 1)
		}
	}
	return series
}

// mergeDrain returns nil when nothing came after the measured time.
func mergeDrain(parts []*Part) *Point {
	var all []Interval
	for _, p := range parts {
		all = append(all, p.Drain)
	}
	drain := mergePoint(all)
	if drain.Acquired+drain.Cycles+drain.Refused+drain.Timeouts+drain.Errors+drain.Unfinished == 0 {
		return nil
	}
	return &drain
}

// mergePoint adds up intervals of several processes. That of one alone stays as it is.
func mergePoint(parts []Interval) Point {
	if len(parts) == 1 {
		return parts[0].Point
	}
	var sum Interval
	all := NewHistogram()
	for _, i := range parts {
		sum.Add(i.Point)
		var h Histogram
		if h.UnmarshalText(i.Latency) == nil {
			all.Merge(&h)
		}
	}
	sum.quantiles(all)
	return sum.Point
}
