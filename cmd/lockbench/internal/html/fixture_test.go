package html_test

import (
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
)

// recorded returns the document of a comparison in an open loop with shared names.
func recorded() result.Document {
	doc, err := result.ReadFile("../result/testdata/result.json")
	if err != nil {
		panic(err)
	}
	return *doc
}

// full returns the first recorded result with more: histograms, two processes, and a master that was lost.
func full(impl string, round int, speed float64) *bench.Result {
	r := recorded().Results[0]
	r.Impl, r.Round, r.ThroughputPerS, r.ErrorSamples = impl, round, r.ThroughputPerS*speed, []string{"127.0.0.1:7002: i/o timeout\nquorum not reached"}
	h := bench.NewHistogram()
	for i := range int64(500) {
		h.Record(int64(float64((i+1)*5000)/speed), 40)
	}
	text, _ := h.MarshalText()
	for timing, s := range r.Latency {
		if s != nil {
			r.Latency[timing] = h.Summary()
			r.Latency[timing].HDR = string(text)
		}
	}
	r.Latency[bench.RemoteHandoverTime] = r.Latency[bench.HandoverTime]
	r.Valid = bench.Valid{OK: true}
	r.Fairness.PerProc = []int64{30_100, 29_600}
	r.PerMaster[1].Lost, r.PerMaster[1].Down, r.Series[1].MasterNs[1] = 80, 0.267, -1
	r.Faults = []bench.Band{{Spec: "stop:2@1s-2s", Kind: "stop", Master: 2, FromS: 1, ToS: 2}}
	r.SLO = []bench.SLO{{Text: "acquire.response.p99<5ms", Unit: bench.UnitNs, Value: 9.1e6, Limit: 5e6}}
	return r
}

// advised adds an advice.
func advised(doc result.Document) result.Document {
	hold := bench.Exp(20 * time.Millisecond)
	doc.Advice = &result.Advice{Ask: sizing.Ask{RTO: 30 * time.Second, Hold: &hold}, Try: "lockbench run --slo '<x>'"}
	doc.Advice.Sizes = sizing.Size(sizing.Measured{
		Masters: 3, Watched: time.Minute, Acquires: sizing.Count([]time.Duration{time.Millisecond}, []int64{500}, 0), Notes: []string{"master a did not answer"},
	}, doc.Advice.Ask)
	return doc
}

// document returns a document of these results.
func document(command string, results ...*bench.Result) result.Document {
	cfg := recorded().Config
	cfg.Command, cfg.Impls, cfg.Reference, cfg.SLO, cfg.Faults = command, nil, "", nil, []string{"stop:2@1s-2s"}
	for _, r := range results {
		if cfg.Rounds = r.Round; !slices.Contains(cfg.Impls, r.Impl) {
			cfg.Impls = append(cfg.Impls, r.Impl)
		}
	}
	if len(cfg.Impls) > 1 {
		cfg.Reference = cfg.Impls[0]
	}
	return result.NewDocument(cfg, results)
}
