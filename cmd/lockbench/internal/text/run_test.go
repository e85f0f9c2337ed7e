package text_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/internal/testing/golden"
)

func TestARunShowsWhatItHas(t *testing.T) {
	held := func(r *bench.Result, doc *result.Document) {
		r.ThroughputPerS, r.Totals.Fenced, r.Safety.Unaudited, doc.Config.Op, doc.Config.Keys = 0, 1, true, bench.Hold, 1000
		r.Holding = &bench.Holding{Wanted: 1000, Held: 998, Lost: 3, CommandsPerRound: 1}
	}
	fault := func(kind string) func(*bench.Result, *result.Document) {
		return func(r *bench.Result, doc *result.Document) {
			r.Faults = []bench.Band{{Spec: kind + ":1@1s", Kind: kind, FromS: 1, ToS: 2}}
		}
	}
	shared := func(r *bench.Result, doc *result.Document) {
		r.Latency[bench.HandoverTime], r.Latency[bench.RemoteHandoverTime], r.Latency[bench.UncontendedTime] = resulttest.Summary(111_000), resulttest.Summary(222_000), resulttest.Summary(120_000)
		r.Keys, r.HotNames = 2, []bench.HotName{{Name: "a", Acquired: 300, WaitedNs: 4e9}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
		r.Procs, r.Fairness, doc.Config.Procs = 2, bench.Fairness{Jain: 0.625, MaxWaitNs: 3_100_000, MeanWaitNs: 1_000_000, PerProc: []int64{400, 100}}, 2
	}
	var all strings.Builder
	for _, c := range []struct {
		name   string
		change func(*bench.Result, *result.Document)
	}{
		{"plain", func(r *bench.Result, doc *result.Document) {
			doc.Config.Rounds, doc.Config.Workers, doc.Config.Procs = 1, 1, 1
			r.Keys, r.HotNames = 1, []bench.HotName{{Name: "the only one"}}
		}},
		{"doubts", func(r *bench.Result, doc *result.Document) {
			r.Safety.Overlaps, r.Safety.FenceViolations, r.Totals.Fenced, r.Totals.FenceSecondTrips = 3, 2, 400, 6
		}},
		{"held", held},
		{"held in few commands", func(r *bench.Result, doc *result.Document) {
			held(r, doc)
			r.Holding.CommandsPerRound, doc.Config.Target = 0, result.Embedded
		}},
		{"raw", func(r *bench.Result, doc *result.Document) { r.Safety.Unaudited = true }},
		{"fences", func(r *bench.Result, doc *result.Document) {
			r.Totals = bench.Totals{Fenced: 699, Fences: 904}
			doc.Config.Fencing, doc.Config.Groups, doc.Config.Masters = true, 2, []string{"a:1", "b:1"}
		}},
		{"empty", func(r *bench.Result, doc *result.Document) {
			empty := &bench.Summary{Unit: "ns", P: map[string]int64{}}
			latency := bench.Latencies{bench.AcquireTime: empty, bench.ReleaseTime: empty, bench.CycleTime: empty}
			*r, doc.Config.Rate = bench.Result{DurationS: 1, Impl: "muxlock", Latency: latency}, 200
		}},
		{"late quorum", func(r *bench.Result, doc *result.Document) {
			r.Totals = bench.Totals{Acquired: 2, Names: 5, LostValidity: 1, LateQuorum: 1, Outlived: 1}
		}},
		{"crash", fault("crash")},
		{"kill", fault("kill")},
		{"shared", shared},
		{"shared in one process", func(r *bench.Result, doc *result.Document) {
			shared(r, doc)
			r.Procs, doc.Config.Op, r.Latency[bench.HoldTime] = 1, bench.Try, resulttest.Summary(333_000)
		}},
		{"shared in one process by another that asks", func(r *bench.Result, doc *result.Document) {
			shared(r, doc)
			r.Impl, r.Procs, r.Fairness.MeanWaitNs = "slow", 1, 1
		}},
		{"failures", func(r *bench.Result, doc *result.Document) {
			r.Totals = bench.Totals{Offered: 4, Failed: 1, Timeouts: 1, Acquired: 3}
			doc.Results = append(doc.Results, resulttest.Result("slow", 1, 10))
		}},
		{"cost", func(r *bench.Result, doc *result.Document) {
			r.Client.SchedP99Ns, r.Client.CPUShare, r.Client.Stall = 12_300, 0.96, resulttest.Summary(1)
			r.Latency[bench.CycleTime].Count = 99_999
		}},
		{"below one a second", func(r *bench.Result, doc *result.Document) {
			r.ThroughputPerS, r.AcquiredPerS, r.Totals, r.DurationS, doc.Config.Rate = 0.25, 0.25, bench.Totals{Offered: 2, Started: 1, Acquired: 1}, 4, 0.5
			r.Fairness.PerProc = []int64{1, 0}
		}},
		{"open loop", func(r *bench.Result, doc *result.Document) {
			for i, latency := range []bench.Timing{bench.ResponseTime, bench.WaitTime, bench.LagTime, bench.HoldTime} {
				r.Latency[latency] = resulttest.Summary(int64(i + 1))
			}
			r.Totals = bench.Totals{Offered: 1000, Started: 800, Late: 1, Unfinished: 1, Failed: 1, Acquired: 500}
			r.AcquiredPerS, r.Drain, doc.Config.Rate = 90, &bench.Point{TS: r.DurationS + 2, Acquired: 1, Unfinished: 1}, 200
			r.Keys, r.HotNames, r.Latency[bench.LagTime].Count = 2, []bench.HotName{{Name: "a"}}, 1
			r.Latency[bench.ResponseTime].Censored, r.Latency[bench.ResponseTime].AtLeast = 1, []string{"99.9", "99.99"}
			r.Invalidate(bench.ReasonGenerator, "by far")
		}},
		{"masters", func(r *bench.Result, doc *result.Document) {
			r.PerMaster = []bench.Master{
				{Addr: "a:1", RTT: resulttest.Summary(100_000), Clock: &bench.Clock{PPM: 7, PPMError: 7, JumpNs: 1_000_000}},
				{Addr: "b:1", RTT: resulttest.Summary(200_000), Clock: &bench.Clock{PPM: -52, PPMError: 0.5, JumpNs: 20_000_000}},
				{Addr: "c:1", RTT: resulttest.Summary(250_001), Clock: &bench.Clock{PPMError: 10_000}},
				{Addr: "d:1", RTT: &bench.Summary{Count: 1, Max: 110_000}, Lost: 7, Down: 0.25, Clock: &bench.Clock{PPMError: 1e6}},
				{Addr: "e:1", RTT: &bench.Summary{}, Lost: 500, Down: 1},
			}
		}},
		{"objectives", func(r *bench.Result, doc *result.Document) {
			doc.Config.Impls = []string{"muxlock"}
			r.SLO = []bench.SLO{
				{Text: "acquire.response.p99<5ms", Unit: bench.UnitNs, Value: 3.1e6, Pass: true},
				{Text: "error_rate<0.1%", Unit: bench.UnitShare, Value: 0.0123},
				{Text: "throughput>5k", Value: 1234},
				{Text: "cycle.p99.9<1s", Reason: "too few"},
			}
		}},
	} {
		r := resulttest.Result("muxlock", 1, 100)
		doc := resulttest.Document(r)
		c.change(r, &doc)
		fmt.Fprintf(&all, "== %s\n%s\n%s\n", c.name, shown(t, "run", doc), shown(t, "compare", doc))
	}
	golden.Equal(t, "runs.txt", all.String())
}

func TestAFaultIsShownBesideAllOtherSeconds(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 1000)
	r.Series = nil
	for i, cycles := range []int64{1000, 900, 100, 200, 800, 0} {
		r.Series = append(r.Series, bench.Point{TS: float64(i) + 1.001, Cycles: cycles, P99Ns: cycles * 1000})
	}
	r.Faults = []bench.Band{
		{Spec: "stop:1@2s-4s", FromS: 2.01, ToS: 4.0},
		{Spec: "flush:2@4.5s", FromS: 4.5, ToS: 4.5},
		{Spec: "delay:3:5ms", FromS: 0, ToS: 7},
	}
	again := *r
	again.Round, again.Faults, r.Faults = 2, r.Faults, []bench.Band{r.Faults[0], r.Faults[2]}
	doc := resulttest.Document(r, &again)
	doc.Config.Faults = []string{"stop:1@2s-4s"}
	text := shown(t, "run", doc) + shown(t, "compare", doc) // of a second without operations nothing is known
	r.Series[2].P99AtLeast, r.Series[3].P99AtLeast = true, true
	golden.Equal(t, "faults.txt", text+shown(t, "run", doc))
}

func TestChaosShowsWhatWasDrawnAndWhereAViolationIsRecorded(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	r.Kept, r.Faults = &bench.Kept{Held: 1001, Lost: 12, Stopped: 3}, []bench.Band{{Spec: "stop:1@1s-2s", Kind: "stop", FromS: 1, ToS: 2}}
	doc := resulttest.Document(r)
	doc.Config.Impls, doc.Config.History = []string{"muxlock"}, "the-file"
	doc.Config.FaultKinds, doc.Config.Faults = []string{"stop", "pause"}, []string{"stop:1@1s-2s", "pause:1@3s-4s", "stop:2@2s-3s"}
	text := shown(t, "chaos", doc)
	r.Safety.Overlaps = 1
	golden.Equal(t, "chaos.txt", text+shown(t, "chaos", doc))
}

func TestObjectivesOfSeveralRoundsAreOneLine(t *testing.T) {
	var results []*bench.Result
	for i, value := range []float64{1e6, 2e6, 9e6} {
		r := resulttest.Result("muxlock", i+1, 100)
		r.SLO = []bench.SLO{{Text: "cycle.p50<5ms", Unit: bench.UnitNs, Value: value, Pass: value < 5e6}}
		results = append(results, r)
	}
	doc := resulttest.Document(results...)
	text := shown(t, "compare", doc)
	results[2].SLO[0].AtLeast = true // whatever the third is, the median is not
	text += shown(t, "compare", doc)
	results[0].SLO[0].AtLeast = true
	text += shown(t, "compare", doc)
	results[0].SLO[0].AtLeast, results[2].SLO[0] = false, bench.SLO{Text: "cycle.p50<5ms", Reason: "too few"}
	text += shown(t, "compare", doc)
	doc.Results = results[:2]
	text += shown(t, "compare", doc)
	golden.Equal(t, "objectives.txt", strings.Join(regexp.MustCompile("(?m)^SLO.*\n").FindAllString(text, -1), ""))
}
