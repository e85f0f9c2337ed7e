package html_test

import (
	"math"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
)

// latency returns a summary of n operations around a median in ns, with a tail.
func latency(n int, median float64) *bench.Summary {
	h := bench.NewHistogram()
	for i := range 500 {
		h.Record(int64(0.7*median/math.Pow(1-(float64(i)+0.5)/500, 0.5)), int64(n/500))
	}
	text, err := h.MarshalText()
	if err != nil {
		panic(err)
	}
	s := h.Summary()
	s.HDR = string(text)
	return s
}

// full returns a result of an open loop with shared names. Everything was measured, and a master was
// lost for some seconds.
func full(impl string, round int, speed float64) *bench.Result {
	at := func(ns float64) *bench.Summary { return latency(20_000, ns/speed) }
	r := &bench.Result{
		Impl: impl, Round: round, Masters: 3, Workers: 64, Procs: 2, Keys: 100, Seed: 42, DurationS: 30,
		Totals: bench.Totals{
			Offered: 60_000, Started: 59_990, Acquired: 59_700, Refused: 12, Timeouts: 240, Errors: 38, Late: 31,
		},
		ThroughputPerS: 1990 * speed,
		Latency: bench.Latencies{
			bench.ResponseTime: at(900e3), bench.WaitTime: at(40e3), bench.AcquireTime: at(700e3), bench.ReleaseTime: at(300e3), bench.CycleTime: at(1.1e6),
			bench.HandoverTime: at(150e3), bench.RemoteHandoverTime: at(210e3), bench.HoldTime: at(2e6), bench.UncontendedTime: at(350e3), bench.LagTime: at(4e3),
		},
		Fairness: bench.Fairness{Jain: 0.962, MaxWaitNs: 48e6, MeanWaitNs: 1_100_000, PerProc: []int64{30_100, 29_600}},
		Client: bench.Client{
			CPUNsPerOp: 21_000 / speed, AllocsPerOp: 9.4, GCP99Ns: 120_000, SchedP99Ns: 80_000, Stall: at(60e3),
			CPUShare: 0.44,
		},
		Faults: []bench.Band{
			{Spec: "delay:1:5ms@8s-14s", Kind: "delay", Master: 1, FromS: 8, ToS: 14},
			{Spec: "stop:2@12s-20s", Kind: "stop", Master: 2, FromS: 12, ToS: 20},
			{Spec: "flush:3@25s", Kind: "flush", Master: 3, FromS: 25, ToS: 25},
		},
		SLO: []bench.SLO{
			{Text: "acquire.response.p99<5ms", Unit: bench.UnitNs, Value: 9.1e6, Limit: 5e6},
			{Text: "throughput>1000", Value: 1990, Limit: 1000, Pass: true},
			{Text: "handover.p99.99<1s", Unit: bench.UnitNs, Limit: 1e9, Reason: "too few hand-overs"},
		},
		Valid:        bench.Valid{OK: true, Reasons: []bench.Reason{}},
		ErrorSamples: []string{"127.0.0.1:7002: i/o timeout\nquorum not reached"},
	}
	for i, addr := range []string{"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"} {
		m := bench.Master{Addr: addr, RTT: latency(3000, 120e3*float64(i+1)), Clock: &bench.Clock{PPM: -3.2 * float64(i), PPMError: 1.4, JumpNs: 20_000, OffsetNs: -40_000, WatchedNs: 30e9}}
		if i == 1 {
			m.Lost, m.Down = 80, 0.267
		}
		r.PerMaster = append(r.PerMaster, m)
	}
	for s := 1; s <= 30; s++ {
		p := bench.Point{
			TS: float64(s) + 0.003, Cycles: int64(1990 * speed * (1 + 0.05*math.Sin(float64(s)))), Acquired: 1990,
			P50Ns: int64(900e3 / speed), P99Ns: int64((4 + math.Cos(float64(3*s))) * 1e6 / speed), MasterNs: []int64{120e3, 240e3, 360e3},
		}
		switch {
		case s > 12 && s <= 20:
			p.Timeouts, p.Errors, p.Refused, p.MasterNs[1] = 30, 4, 1, -1
			p.P99Ns *= 5
			p.Cycles = p.Cycles * 8 / 10
			fallthrough
		case s > 8 && s <= 14:
			p.MasterNs[0] = 5_200_000
		}
		r.Series = append(r.Series, p)
	}
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

// document makes a document without machine and time.
func document(command string, results ...*bench.Result) result.Document {
	cfg := result.Config{
		Settings: result.Settings{
			Config: bench.Config{
				Workers: 64, Procs: 2, Keys: 100, Dist: bench.Uniform(), Hold: bench.Exp(2 * time.Millisecond), Rate: 2000,
				Duration: 30 * time.Second, Warmup: 2 * time.Second, TTL: 10 * time.Second, Wait: time.Second, Seed: 42,
			},
			Impls: []string{}, Rounds: 1, Faults: []string{"delay:1:5ms@8s-14s", "stop:2@12s-20s", "flush:3@25s"},
		},
		Masters: []string{"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"},
		Command: command, Target: "local", Server: "redis 7.0.15",
	}
	for _, r := range results {
		cfg.Rounds = max(cfg.Rounds, r.Round)
		if len(cfg.Impls) == 0 || r.Round == 1 && cfg.Impls[0] != r.Impl {
			cfg.Impls = append(cfg.Impls, r.Impl)
		}
	}
	if len(cfg.Impls) > 1 {
		cfg.Reference = cfg.Impls[0]
	}
	doc := result.NewDocument(cfg, results)
	doc.Tool = result.Tool{Name: "lockbench", Version: "v0.0.0", Go: "go1.26"}
	doc.Env = result.Env{OS: "linux", Arch: "amd64", CPUs: 8, GOMAXPROCS: 8, Kernel: "6.1", CPU: "A Processor", Host: "host"}
	return doc
}
