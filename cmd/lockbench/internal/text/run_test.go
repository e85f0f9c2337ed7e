package text_test

import (
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
		r.Procs, r.Fairness, doc.Config.Procs = 2, bench.Fairness{Jain: 0.625, MaxWaitNs: 3_100_000, MeanWaitNs: 1_000_000, PerProc: []int64{400, 100}}, 2
	}
	for name, c := range map[string]struct {
		change    func(*bench.Result, *result.Document)
		want, not string // separated by |
	}{
		"plain": {func(*bench.Result, *result.Document) {}, "overlaps 0 lost validity 0", "WARNING|hand-over|names|not counted|SLO"},
		"doubts": {func(r *bench.Result, doc *result.Document) {
			r.Safety.Overlaps, r.Safety.FenceViolations, r.Totals.Fenced, r.Totals.FenceSecondTrips = 3, 2, 400, 6
		}, "SAFETY VIOLATION muxlock: two held one lock: 3 times|overlaps 3|fences 400 fence violations 2 fences that took a second round trip 1.50%|~3.00ms", "~2.00ms"}, // 5 of 500 samples lie beyond p99
		"held":   {held, "keys 1000 to hold|998 of 1,000 locks held for 5.0s lost 3|111 commands a batch|overlaps not audited lost validity|fences 20 fence violations not audited", "cycles/s|overlaps 0|fence violations 0|a cycle "},
		"raw":    {func(r *bench.Result, doc *result.Document) { r.Safety.Unaudited = true }, "overlaps not audited", "overlaps 0|lost validity"},
		"fences": {totals(bench.Totals{Fenced: 699, Fences: 904}), "fences 904 fence violations 0", ""},
		"empty": {func(r *bench.Result, doc *result.Document) {
			empty := &bench.Summary{Unit: "ns", P: map[string]int64{}}
			*r = bench.Result{Impl: "muxlock", Latency: bench.Latencies{bench.AcquireTime: empty, bench.ReleaseTime: empty, bench.CycleTime: empty}}
		}, "muxlock", ""},
		"late quorum": {totals(bench.Totals{Acquired: 72, Names: 520, LostValidity: 20, LateQuorum: 20}), "WARNING muxlock: quorums came too late to leave any validity: 20 (3.70%)|names 7.22 a call refused", "outlasted"},
		"crash":       {fault("crash"), "what the killed process did is not counted", ""},
		"kill":        {fault("kill"), "kill:1@1s", "not counted"},
		"shared":      {shared, "111µs|222µs|fairness (Jain) 0.625 longest wait 3.10ms, 3.1 times the mean|400 (80%) 100 (20%)|2 processes x 64 workers", "all workers"},
		"cost": {func(r *bench.Result, doc *result.Document) {
			r.Client.SchedP99Ns, r.Client.CPUShare, r.Client.Stall = 12_300, 0.42, resulttest.Summary(1)
		}, "client: cpu 12.3µs a cycle allocs 5.25 a cycle 42% of the machine's cpu gc pause p99 0ns wait for a processor p99 12.3µs stall p99 ~3.00ms longest 9.00ms", ""},
		"below one a second": {func(r *bench.Result, doc *result.Document) {
			r.ThroughputPerS, r.Totals, r.DurationS, doc.Config.Rate = 0.25, bench.Totals{Offered: 2, Started: 1}, 4, 0.5
		}, "0.25 cycles/s over 4.0s offered 0.5/s started 0.25/s late", "goodput"},
		"open loop": {func(r *bench.Result, doc *result.Document) {
			for i, latency := range []bench.Timing{bench.ResponseTime, bench.WaitTime, bench.LagTime, bench.HoldTime} {
				r.Latency[latency] = resulttest.Summary(int64(i + 1))
			}
			r.Totals = bench.Totals{Offered: 1000, Started: 800, Late: 25, Unfinished: 300, Acquired: 500}
			r.AcquiredPerS, r.Drain, doc.Config.Rate = 90, &bench.Point{TS: r.DurationS + 2, Unfinished: 300}, 200
			r.Latency[bench.ResponseTime].Censored, r.Latency[bench.ResponseTime].AtLeast = 3, []string{"99.9", "99.99"}
			r.Invalidate(bench.ReasonGenerator, "by far")
		}, "late 25 (3.12%) goodput 45.0% acquired 500 refused 0 timeouts 0 errors 0 unfinished 300 after 2.00s of drain| ~3.00ms ~>=4.00ms ~>=5.00ms >=9.00ms 500|" +
			"response: 3 (0.60%) never got their lock| response 1.00ns| wait 2.00ns| lag 3.00ns| hold 4.00ns| acquire 1.23ms|" +
			"p99 needs 5s more, p99.9 needs 95s more, p99.99 needs 995s more| late: begun more than 1ms|" +
			"NOT VALID muxlock: the generator could not keep up: by far what helps: fewer other programs", " service "},
	} {
		r := resulttest.Result("muxlock", 1, 100)
		doc := resulttest.Document(r)
		c.change(r, &doc)
		text := flat(shown(t, "run", doc))
		for want := range strings.SplitSeq(c.want, "|") {
			require.Contains(t, text, want, name)
		}
		for not := range strings.SplitSeq(c.not, "|") {
			require.False(t, not != "" && strings.Contains(text, not), "%s: %s: %s", name, not, text)
		}
		require.NotEmpty(t, shown(t, "compare", doc), name)
	}
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

func TestEachMasterHasALineAndTheOddOnesAreMarked(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	r.PerMaster = []bench.Master{
		{Addr: "a:1", RTT: resulttest.Summary(100_000), Clock: &bench.Clock{PPM: 3, PPMError: 7}},
		{Addr: "b:1", RTT: resulttest.Summary(200_000), Clock: &bench.Clock{PPM: -52, PPMError: 7, JumpNs: 20_000_000}},
		{Addr: "c:1", RTT: resulttest.Summary(250_001)},
		{Addr: "d:1", RTT: resulttest.Summary(110_000), Lost: 7, Down: 0.25, Clock: &bench.Clock{PPMError: 1e6}},
		{Addr: "e:1", RTT: &bench.Summary{}, Lost: 500, Down: 1},
	}
	require.Contains(t, shown(t, "run", resulttest.Document(r)), `
master  rtt p50      p99     max  no reply   away            clock rate
a:1       100µs  ~3.00ms  9.00ms         0      0                0±7ppm
b:1       200µs  ~3.00ms  9.00ms         0      0  -52±7ppm step 20.0ms
c:1       250µs  ~3.00ms  9.00ms         0      0                     -  <- slow
d:1       110µs  ~3.00ms  9.00ms         7  25.0%                     -  <- away
e:1           -        -       -       500   100%                     -  <- away
`)
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
	for _, command := range []string{"run", "compare"} {
		text := flat(shown(t, command, doc))
		require.Contains(t, text, "faults: stop:1@2s-4s, flush:2@4.5s ")
		require.Contains(t, text, "stop:1@2s-4s: 150/s p99 150µs in it; 850/s p99 900µs in all other seconds ") // of a second without operations nothing is known
		require.Contains(t, text, "flush:2@4.5s: 800/s p99 800µs in it; 200/s p99 550µs in all other seconds ")
		require.Contains(t, text, "delay:3:5ms: 500/s p99 800µs in it; -/s p99 - in all other seconds")
	}
	r.Series[2].P99AtLeast = true
	r.Series[3].P99AtLeast = true
	require.Contains(t, flat(shown(t, "run", doc)), "150/s p99 >=150µs in it; ")
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
	text := flat(shown(t, "chaos", doc))
	for _, want := range []string{"seed 42", "faults: 3 drawn: pause 1, stop 2", "overlaps 0", "kept locks 1,001, lost 12, 3 of them while their process stood still", "again: lockbench again"} {
		require.Contains(t, text, want)
	}
	for _, not := range []string{"in all other seconds", "the-file"} {
		require.NotContains(t, text, not)
	}
	r.Safety.Overlaps = 1
	text = flat(shown(t, "chaos", doc))
	require.Contains(t, text, "SAFETY VIOLATION muxlock: two held one lock: 1 times")
	require.Contains(t, text, "of each key, and the faults: the-file")
}
