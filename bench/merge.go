package bench

import (
	"cmp"
	"reflect"
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
		Workload:     cfg.workload(),
		Seed:         cfg.Seed,
		Series:       mergeSeries(parts),
		Drain:        mergeDrain(parts),
		Valid:        Valid{OK: true, Reasons: []Reason{}},
		ErrorSamples: []string{},
	}
	latency := newHists(cfg)
	var all sums
	var longest, gc, sched int64
	var shares []int64
	var seen samples
	stall := NewHistogram()
	var stalls *Peaks
	for _, p := range parts {
		add(&all, p.sums)
		res.DurationS = max(res.DurationS, p.Elapsed.Seconds())
		longest, gc, sched = max(longest, p.LongestWait), max(gc, p.Client.GCP99Ns), max(sched, p.Client.SchedP99Ns)
		latency.each(&p.Latency, (*Histogram).Merge)
		shares = append(shares, p.Shares...)
		res.Fairness.PerProc = append(res.Fairness.PerProc, p.Totals.Acquired)
		res.Safety.Unaudited = p.Unaudited || cfg.Op == Hold
		res.Safety.Overlaps = max(res.Safety.Overlaps, p.Overlaps)
		res.Safety.FenceViolations = max(res.Safety.FenceViolations, p.FenceViolations)
		res.History = append(res.History, p.History...)
		if p.Stall != nil {
			stall.Merge(p.Stall)
			stalls = mergePeaks(stalls, p.Stalls)
		}
		for _, text := range p.ErrorSamples {
			seen.keep(text)
		}
	}
	res.Totals, res.Client = all.Totals, all.Client
	if cfg.Kept > 0 {
		res.Kept = &all.Kept
	}
	for _, i := range res.Series {
		res.ThroughputPerS += float64(i.Cycles) / res.DurationS
	}
	if cfg.Op == Hold { // it acquires in the warm-up as well
		res.Holding = all.Holding.result()
	} else if res.DurationS > 0 {
		for _, share := range shares {
			all.Replaced += share
		}
		res.AcquiredPerS = float64(all.Replaced) / res.DurationS
	}
	res.Client.perCycle(all.Cycles)
	res.Client.GCP99Ns, res.Client.SchedP99Ns = gc, sched
	if stall.Count() > 0 {
		res.Client.Stall = stall.Summary()
		res.Client.Stall.Peaks = stalls
	}
	res.Latency = latency.summaries()
	res.Fairness.Jain = Jain(shares)
	res.Fairness.MaxWaitNs = longest
	res.Fairness.MeanWaitNs = all.Waited / max(all.Waits, 1)
	res.ErrorSamples = append(res.ErrorSamples, seen.texts...)
	slices.SortStableFunc(res.History, func(a, b Event) int { return cmp.Compare(a.FromNs, b.FromNs) })
	checkValid(res, cfg, parts)
	return res
}

// add adds each number of from, a struct of numbers and of such structs, to that of into.
func add[T any](into *T, from T) { addValue(reflect.ValueOf(into).Elem(), reflect.ValueOf(from)) }

func addValue(into, from reflect.Value) {
	switch {
	case into.Kind() == reflect.Struct:
		for i := range into.NumField() {
			addValue(into.Field(i), from.Field(i))
		}
	case into.CanInt():
		into.SetInt(into.Int() + from.Int())
	case into.CanUint():
		into.SetUint(into.Uint() + from.Uint())
	case into.CanFloat():
		into.SetFloat(into.Float() + from.Float())
	}
}

// mergeSeries adds up the seconds of all parts. If a process paused, its late interval counts in the second in which the
// interval ends, and the seconds of the pause have the counts of the other processes. One process alone keeps its intervals.
func mergeSeries(parts []*Part) []Point {
	var seconds [][]Point
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
		series[n] = mergePoint(all)
		if len(parts) > 1 && n < len(seconds)-1 {
			series[n].TS = float64(n + 1)
		}
	}
	return series
}

// mergeDrain returns nil when nothing came after the measured time.
func mergeDrain(parts []*Part) *Point {
	var all []Point
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
func mergePoint(parts []Point) (sum Point) {
	switch len(parts) {
	case 0:
		return sum
	case 1:
		sum = parts[0]
		sum.Latency = nil // it was to be merged
		return sum
	}
	all := NewHistogram()
	for _, p := range parts {
		sum.Add(p)
		var h Histogram
		if h.UnmarshalText(p.Latency) == nil {
			all.Merge(&h)
		}
	}
	sum.percentiles(all)
	return sum
}
