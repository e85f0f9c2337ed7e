package report

import (
	"slices"

	"muxlock/bench"
)

// metric is one latency of a Result.
type metric struct {
	name string
	of   func(*bench.Result) *bench.Summary
}

// metrics in the order in which a reader wants them. Service is the acquire of an
// open loop: each of the two is shown where its name says more.
var metrics = []metric{
	{"response", func(r *bench.Result) *bench.Summary { return r.Latency.Response }},
	{"wait", func(r *bench.Result) *bench.Summary { return r.Latency.Wait }},
	{"service", func(r *bench.Result) *bench.Summary {
		if r.Latency.Response == nil {
			return nil
		}
		return r.Latency.Service
	}},
	{"cycle", func(r *bench.Result) *bench.Summary { return r.Latency.Cycle }},
	{"acquire", func(r *bench.Result) *bench.Summary {
		if r.Latency.Response != nil {
			return nil
		}
		return r.Latency.Acquire
	}},
	{"release", func(r *bench.Result) *bench.Summary { return r.Latency.Release }},
	{"extend", func(r *bench.Result) *bench.Summary { return r.Latency.Extend }},
	{"hand-over", func(r *bench.Result) *bench.Summary { return r.Latency.Handover }},
	{"from other process", func(r *bench.Result) *bench.Summary { return r.Latency.HandoverRemote }},
	{"uncontended", func(r *bench.Result) *bench.Summary { return r.Latency.Uncontended }},
	{"hold", func(r *bench.Result) *bench.Summary { return r.Latency.Hold }},
	{"generator lag", func(r *bench.Result) *bench.Summary { return r.Latency.Lag }},
}

// pool is one latency of all rounds of an implementation.
type pool struct {
	summary *bench.Summary
	all     *bench.Histogram // nil: only the percentiles of summary are known
}

// poolOf puts the rounds together, which only histograms can be; of several rounds
// without them, and when there is nothing, it is nil.
func poolOf(results []*bench.Result, of func(*bench.Result) *bench.Summary) *pool {
	var parts []*bench.Summary
	for _, r := range results {
		if s := of(r); s != nil && s.Count > 0 {
			parts = append(parts, s)
		}
	}
	all := bench.NewHistogram()
	for _, s := range parts {
		h, err := s.Histogram()
		if err != nil || h.Count() == 0 {
			all = nil
			break
		}
		all.Merge(h)
	}
	switch {
	case len(parts) == 1:
		return &pool{parts[0], all}
	case len(parts) == 0 || all == nil:
		return nil
	}
	return &pool{all.Summary(), all}
}

// quantile is a percentile that every summary names.
type quantile struct {
	name string
	at   float64
}

var quantiles = []quantile{{"50", 0.5}, {"90", 0.9}, {"99", 0.99}, {"99.9", 0.999}, {"99.99", 0.9999}}

// impls are the implementations in the order of the results.
func impls(results []*bench.Result) (names []string) {
	for _, r := range results {
		if !slices.Contains(names, r.Impl) {
			names = append(names, r.Impl)
		}
	}
	return names
}

// of is the results of one implementation. Interrupted ones count when there are no
// others.
func of(results []*bench.Result, impl string) []*bench.Result {
	own := slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return r.Impl != impl })
	whole := slices.DeleteFunc(slices.Clone(own), (*bench.Result).Interrupted)
	if len(whole) == 0 {
		return own
	}
	return whole
}

// median of a figure over results.
func median(results []*bench.Result, of func(*bench.Result) float64) float64 {
	if len(results) == 0 {
		return 0
	}
	var vs []float64
	for _, r := range results {
		vs = append(vs, of(r))
	}
	slices.Sort(vs)
	n := len(vs)
	return (vs[(n-1)/2] + vs[n/2]) / 2
}
