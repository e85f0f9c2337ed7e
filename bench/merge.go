package bench

import (
	"cmp"
	"reflect"
	"slices"
	"time"
)

// Merge makes the result of a run from the parts of all its processes, in their order.
func Merge(impl string, cfg Config, parts []*Part) *Result {
	var all figures
	var seen samples
	perProc := []int64{}
	for _, p := range parts {
		add(&all, p.figures)
		perProc = append(perProc, p.Totals.Acquired)
	}
	for _, text := range all.ErrorSamples {
		seen.keep(text)
	}
	res := &Result{
		Impl:         impl,
		Round:        1,
		Workers:      cfg.Workers,
		Procs:        cfg.procs(),
		Keys:         cfg.keys(),
		Workload:     cfg.workload(),
		Seed:         cfg.Seed,
		DurationS:    time.Duration(all.Elapsed).Seconds(),
		Totals:       all.Totals,
		Latency:      all.Latency.summaries(),
		Fairness:     Fairness{Jain: Jain(all.Shares), MaxWaitNs: int64(all.LongestWait), MeanWaitNs: all.Waited / max(all.Waits, 1), PerProc: perProc},
		Safety:       Safety{Overlaps: int64(all.Overlaps), FenceViolations: int64(all.FenceViolations), Unaudited: all.Unaudited || cfg.Op == Hold},
		Client:       all.Client,
		Series:       mergeSeries(parts),
		Drain:        mergeDrain(parts),
		Valid:        Valid{OK: true, Reasons: []Reason{}},
		ErrorSamples: append([]string{}, seen.texts...),
		History:      all.History,
		HotNames:     hottest(all.HotNames, cfg.KeyPrefix),
	}
	if cfg.Kept > 0 {
		res.Kept = &all.Kept
	}
	var cycles, acquired int64
	for _, i := range res.Series {
		cycles += i.Cycles
	}
	for _, share := range all.Shares {
		acquired += share
	}
	if cfg.Op == Hold { // it acquires in the warm-up as well
		res.Holding, acquired = all.holding(cfg), 0
	}
	s := max(res.DurationS, 1e-9)
	res.ThroughputPerS, res.AcquiredPerS = float64(cycles)/s, float64(acquired)/s
	t := &res.Totals
	t.LateQuorum, t.FenceSecondTrips = int64(all.Counts.LateQuorum), int64(all.Counts.FenceSecondTrips)
	t.LostValidity = t.Outlived + t.LateQuorum
	res.Client.perCycle(all.Cycles)
	res.Client.GCP99Ns, res.Client.SchedP99Ns = int64(all.Pauses), int64(all.Ready)
	if all.Stall != nil && all.Stall.Count() > 0 {
		res.Client.Stall = all.Stall.Summary()
		res.Client.Stall.Peaks = all.Stalls
	}
	slices.SortStableFunc(res.History, func(a, b Event) int { return cmp.Compare(a.FromNs, b.FromNs) })
	checkValid(res, cfg, all, slices.MinFunc(parts, func(a, b *Part) int { return cmp.Compare(a.Joined, b.Joined) }).Joined)
	return res
}

// add adds what from has to into, field by field: numbers, elements of slices, latencies. Of most it keeps the larger, of bool
// whether either is true, of string the first that is not empty.
func add[T any](into *T, from T) { addValue(reflect.ValueOf(into).Elem(), reflect.ValueOf(from)) }

func addValue(into, from reflect.Value) {
	if from.IsZero() {
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		switch x := from.Interface().(type) {
		case *Histogram:
			sum := cmp.Or(into.Interface().(*Histogram), NewHistogram())
			sum.Merge(x)
			into.Set(reflect.ValueOf(sum))
		case *Peaks:
			into.Set(reflect.ValueOf(mergePeaks(into.Interface().(*Peaks), x)))
		}
	case reflect.Struct:
		for i := range into.NumField() {
			addValue(into.Field(i), from.Field(i))
		}
	case reflect.Array:
		for i := range into.Len() {
			addValue(into.Index(i), from.Index(i))
		}
	case reflect.Slice:
		into.Set(reflect.AppendSlice(into, from))
	case reflect.Bool, reflect.String:
		if into.IsZero() {
			into.Set(from)
		}
	case reflect.Int64:
		sum := into.Int() + from.Int()
		if into.Type() == reflect.TypeFor[most]() {
			sum = max(into.Int(), from.Int())
		}
		into.SetInt(sum)
	case reflect.Float64:
		into.SetFloat(into.Float() + from.Float())
	case reflect.Uint64:
		into.SetUint(into.Uint() + from.Uint())
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
