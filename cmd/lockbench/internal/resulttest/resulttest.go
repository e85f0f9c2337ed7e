// Package resulttest makes results for tests.
package resulttest

import (
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// Summary returns a summary of 500 operations with that median and a tail.
func Summary(p50 int64) *bench.Summary {
	return &bench.Summary{Unit: "ns", Count: 500, Min: 1, Mean: 2e6, Max: 9e6, P: map[string]int64{
		"50": p50, "90": 2e6, "99": 3e6, "99.9": 4e6, "99.99": 5e6,
	}}
}

// Result returns a run of a closed loop.
func Result(impl string, round int, perSecond float64) *bench.Result {
	s := Summary(1_234_567)
	return &bench.Result{
		Impl: impl, Round: round, Masters: 5, Workers: 64, DurationS: 5, ThroughputPerS: perSecond,
		Totals:  bench.Totals{Acquired: 500},
		Latency: bench.Latencies{bench.AcquireTime: s, bench.ReleaseTime: s, bench.CycleTime: s},
		Client:  bench.Client{CPUNsPerOp: 12_340, AllocsPerOp: 5.25},
		Valid:   bench.Valid{OK: true, Reasons: []bench.Reason{}},
	}
}

// Document returns a comparison of these results.
func Document(results ...*bench.Result) result.Document {
	return result.NewDocument(result.Config{
		Settings: result.Settings{
			Config: bench.Config{Workers: 64, TTL: 10 * time.Second, Duration: 5 * time.Second, Seed: 42, Rounds: 3},
			Impls:  []string{"muxlock", "slow"},
		},
		Reference: "muxlock", Masters: []string{"a:1", "b:1", "c:1"},
		Command: "compare", Target: "local", Server: "redis 7.0.15",
	}, results)
}
