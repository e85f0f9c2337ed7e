package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestARunShowsWhatItHas(t *testing.T) {
	held := func(r *bench.Result, doc *result.Document) {
		r.ThroughputPerS, r.Totals.Fenced, r.Safety.Unaudited, doc.Config.Op, doc.Config.Keys = 0, 20, true, bench.Hold, 1000
		r.Holding = &bench.Holding{Wanted: 1000, Held: 998, Lost: 3, CommandsPerRound: 111}
	}
	totals := func(t bench.Totals) func(*bench.Result, *result.Document) {
		return func(r *bench.Result, doc *result.Document) { r.Totals = t }
	}
	fault := func(kind string) func(*bench.Result, *result.Document) {
		return func(r *bench.Result, doc *result.Document) {
			r.Faults = []bench.Band{{Spec: kind + ":1@1s", Kind: kind, FromS: 1, ToS: 2}}
		}
	}
	shared := func(r *bench.Result, doc *result.Document) {
		r.Latency[bench.HandoverTime], r.Latency[bench.RemoteHandoverTime], r.Latency[bench.UncontendedTime] = resulttest.Summary(111_000), resulttest.Summary(222_000), resulttest.Summary(120_000)
		r.Keys, r.HotNames = 8, []bench.HotName{{Name: "a", Acquired: 300, WaitedNs: 4e9}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
		r.Procs, r.Fairness, doc.Config.Procs = 2, bench.Fairness{Jain: 0.625, MaxWaitNs: 3_100_000, MeanWaitNs: 1_000_000, PerProc: []int64{400, 100}}, 2
	}
	var all strings.Builder
	for _, c := range []struct {
		name   string
		change func(*bench.Result, *result.Document)
	}{
		{"plain", func(r *bench.Result, doc *result.Document) {
			doc.Config.Rounds, r.Keys, r.HotNames = 1, 1, []bench.HotName{{Name: "the only one"}}
		}},
		{"doubts", func(r *bench.Result, doc *result.Document) {
			r.Safety.Overlaps, r.Safety.FenceViolations, r.Totals.Fenced, r.Totals.FenceSecondTrips = 3, 2, 400, 6
		}},
		{"held", held},
		{"raw", func(r *bench.Result, doc *result.Document) { r.Safety.Unaudited = true }},
		{"fences", totals(bench.Totals{Fenced: 699, Fences: 904})},
		{"empty", func(r *bench.Result, doc *result.Document) {
			empty := &bench.Summary{Unit: "ns", P: map[string]int64{}}
			*r = bench.Result{Impl: "muxlock", Latency: bench.Latencies{bench.AcquireTime: empty, bench.ReleaseTime: empty, bench.CycleTime: empty}}
		}},
		{"late quorum", totals(bench.Totals{Acquired: 72, Names: 520, LostValidity: 20, LateQuorum: 20})},
		{"crash", fault("crash")},
		{"kill", fault("kill")},
		{"shared", shared},
		{"cost", func(r *bench.Result, doc *result.Document) {
			r.Client.SchedP99Ns, r.Client.CPUShare, r.Client.Stall = 12_300, 0.42, resulttest.Summary(1)
		}},
		{"below one a second", func(r *bench.Result, doc *result.Document) {
			r.ThroughputPerS, r.AcquiredPerS, r.Totals, r.DurationS, doc.Config.Rate = 0.25, 0.25, bench.Totals{Offered: 2, Started: 1}, 4, 0.5
		}},
		{"open loop", func(r *bench.Result, doc *result.Document) {
			for i, latency := range []bench.Timing{bench.ResponseTime, bench.WaitTime, bench.LagTime, bench.HoldTime} {
				r.Latency[latency] = resulttest.Summary(int64(i + 1))
			}
			r.Totals = bench.Totals{Offered: 1000, Started: 800, Late: 25, Unfinished: 300, Acquired: 500}
			r.AcquiredPerS, r.Drain, doc.Config.Rate = 90, &bench.Point{TS: r.DurationS + 2, Unfinished: 300}, 200
			r.Latency[bench.ResponseTime].Censored, r.Latency[bench.ResponseTime].AtLeast = 3, []string{"99.9", "99.99"}
			r.Invalidate(bench.ReasonGenerator, "by far")
		}},
		{"masters", func(r *bench.Result, doc *result.Document) {
			r.PerMaster = []bench.Master{
				{Addr: "a:1", RTT: resulttest.Summary(100_000), Clock: &bench.Clock{PPM: 3, PPMError: 7, JumpNs: 1_000_000}},
				{Addr: "b:1", RTT: resulttest.Summary(200_000), Clock: &bench.Clock{PPM: -52, PPMError: 7, JumpNs: 20_000_000}},
				{Addr: "c:1", RTT: resulttest.Summary(250_001)},
				{Addr: "d:1", RTT: resulttest.Summary(110_000), Lost: 7, Down: 0.25, Clock: &bench.Clock{PPMError: 1e6}},
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
		fmt.Fprintf(&all, "== %s\n%s\n", c.name, shown(t, "run", doc))
		require.NotEmpty(t, shown(t, "compare", doc), c.name)
	}
	golden(t, "runs", all.String())
}

func TestHandoversWithinOneProcessAreSaidToAskNoMaster(t *testing.T) {
	const means, says = "hand-over: from the call of Release", "all workers are in one process: there muxlock hands over without asking a master; --procs spreads them"
	for _, command := range []string{"run", "compare", "sweep"} {
		for _, c := range []struct {
			impl            string
			waited          *bench.Summary
			procs           int
			explained, said bool
		}{
			{"muxlock", nil, 1, false, false}, {"muxlock", resulttest.Summary(111_000), 1, true, true},
			{"muxlock", resulttest.Summary(111_000), 2, true, false}, {"slow", resulttest.Summary(111_000), 1, true, false}, // others ask
		} {
			r := resulttest.Result(c.impl, 1, 1000)
			r.Latency[bench.HandoverTime], r.Procs = c.waited, c.procs
			doc := resulttest.Document(r)
			if doc.Config.Impls = []string{c.impl}; command == "sweep" {
				doc.Sweep = result.NewSweep(nil, doc.Results)
			}
			text := flat(shown(t, command, doc))
			require.Equal(t, c.explained, strings.Contains(text, means), "%s %+v", command, c)
			require.Equal(t, c.said, strings.Contains(text, says), "%s %+v", command, c)
		}
	}
}

func TestFailuresStandBesideTheLatenciesOfTheOthers(t *testing.T) {
	const means = "failure rate: operations that never got their lock: refused, timed out, failed with an error or unfinished; the latencies"
	for _, command := range []string{"compare", "sweep"} {
		some, none := resulttest.Result("muxlock", 1, 1000), resulttest.Result("slow", 1, 1000)
		none.Totals.Offered = 500
		doc := resulttest.Document(some, none)
		if command == "sweep" {
			doc.Sweep = result.NewSweep(nil, doc.Results)
		}
		require.NotContains(t, shown(t, command, doc), "failure rate")
		some.Totals = bench.Totals{Offered: 2000, Failed: 1500, Timeouts: 1500, Acquired: 500}
		text := shown(t, command, doc)
		require.Regexp(t, `cycle p99 .*failure rate`, text)
		require.Regexp(t, `muxlock .* 75.0%`, text)
		require.Regexp(t, `slow .* 0%`, text)
		require.Contains(t, flat(text), means+" are those of the others")
		doc.Config.Rate = 200
		require.Contains(t, flat(shown(t, command, doc)), means+" are those of the others, except response")
	}
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
	doc := resulttest.Document(r)
	doc.Config.Faults = []string{"stop:1@2s-4s", "flush:2@4.5s"}
	text := shown(t, "run", doc) + shown(t, "compare", doc) // of a second without operations nothing is known
	r.Series[2].P99AtLeast, r.Series[3].P99AtLeast = true, true
	golden(t, "faults", text+shown(t, "run", doc))
}

func TestWhatToTryIsShownToAPersonOnly(t *testing.T) {
	doc := resulttest.Document(resulttest.Result("muxlock", 1, 100))
	doc.Config.Command = "run"
	for _, hint := range []string{"--rate shows it", "next: lockbench compare"} {
		require.Contains(t, shown(t, "run", doc), hint)
		require.NotContains(t, piped(t, doc), hint)
	}
	require.Contains(t, piped(t, doc), "which hides waiting\n\nmuxlock")
}

func TestChaosShowsWhatWasDrawnAndWhereAViolationIsRecorded(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	r.Kept, r.Faults = &bench.Kept{Held: 1001, Lost: 12, Stopped: 3}, []bench.Band{{Spec: "stop:1@1s-2s", Kind: "stop", FromS: 1, ToS: 2}}
	doc := resulttest.Document(r)
	doc.Config.Impls, doc.Config.History = []string{"muxlock"}, "the-file"
	doc.Config.FaultKinds, doc.Config.Faults = []string{"stop", "pause"}, []string{"stop:1@1s-2s", "pause:1@3s-4s", "stop:2@2s-3s"}
	text := shown(t, "chaos", doc)
	r.Safety.Overlaps = 1
	golden(t, "chaos", text+shown(t, "chaos", doc))
}

func TestObjectivesOfSeveralRoundsAreOneLine(t *testing.T) {
	var results []*bench.Result
	for i, value := range []float64{1e6, 2e6, 9e6} {
		r := resulttest.Result("muxlock", i+1, 100)
		r.SLO = []bench.SLO{{Text: "cycle.p50<5ms", Unit: bench.UnitNs, Value: value, Pass: value < 5e6}}
		results = append(results, r)
	}
	doc := resulttest.Document(results...)
	text := func() string { return shown(t, "compare", doc) }
	require.Regexp(t, `(?m)^SLO  muxlock  cycle.p50<5ms  2.00ms  MISSED \(met in 2 of 3 rounds\)$`, text())
	results[2].SLO[0].AtLeast = true
	require.Contains(t, text(), "  2.00ms  MISSED", "whatever the third is")
	results[0].SLO[0].AtLeast = true
	require.Contains(t, text(), "  >=2.00ms  MISSED")
	results[0].SLO[0].AtLeast = false
	results[2].SLO[0] = bench.SLO{Text: "cycle.p50<5ms", Reason: "too few"}
	require.Regexp(t, `(?m)NOT JUDGED \(met in 2 of 3 rounds\): too few$`, text())
	results[2].SLO[0] = results[0].SLO[0]
	require.Regexp(t, `(?m)PASS \(met in 3 of 3 rounds\)$`, text())
}
