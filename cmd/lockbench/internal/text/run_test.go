package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestCompareSaysWhoIsHowManyTimesWhat(t *testing.T) {
	text := shown(t, "compare", resulttest.Document(
		resulttest.Result("muxlock", 1, 15000), resulttest.Result("slow", 1, 1000),
		resulttest.Result("slow", 2, 1000), resulttest.Result("muxlock", 2, 14000),
		resulttest.Result("muxlock", 3, 16000), resulttest.Result("slow", 3, 1000),
	))
	for _, want := range []string{"muxlock is, by rounds", "15.0x", "3 masters (local, redis 7.0.15)", "closed loop", "15,000", "1.23ms", "12.3µs", "slow: is slow"} {
		require.Contains(t, text, want)
	}
}

func TestCompareTurnsTheRatioRoundForAFasterRival(t *testing.T) {
	text := shown(t, "compare", resulttest.Document(resulttest.Result("muxlock", 1, 1000), resulttest.Result("slow", 1, 2000)))
	require.Contains(t, text, "0.50x")
}

func TestRunShowsOverlapsInvalidFiguresAndThinTails(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	r.Safety.Overlaps, r.Safety.FenceViolations = 3, 2
	r.Totals.Fenced, r.Totals.FenceSecondTrips = 400, 6
	r.Invalidate(bench.ReasonRate, "")
	r.ErrorSamples = []string{"it broke\nbadly"}
	text := shown(t, "run", resulttest.Document(r))
	require.Contains(t, text, "SAFETY VIOLATION muxlock: two held one lock: 3 times")
	require.Contains(t, text, "SAFETY VIOLATION muxlock: a fence was not")
	require.Contains(t, text, "fences 400  fence violations 2  fences that took a second round trip 1.50%")
	require.Contains(t, text, "NOT VALID muxlock: rate not met")
	require.Contains(t, text, "ERROR muxlock: it broke; badly")
	require.Contains(t, text, "~3.00ms", "5 of 500 samples lie beyond p99")
	require.NotContains(t, text, "~2.00ms")
}

func TestLocksThatAreHeldAreNoCycles(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 0)
	r.Holding = &bench.Holding{Wanted: 1000, Held: 998, Lost: 3, CommandsPerRound: 111}
	text := shown(t, "run", resulttest.Document(r))
	require.Contains(t, text, "998 of 1,000 locks held for 5.0s  lost 3\n")
	require.Contains(t, text, "111 commands a batch")
	require.NotContains(t, text, "cycles/s")
}

func TestARunWithoutAnAuditClaimsNone(t *testing.T) {
	held := resulttest.Result("muxlock", 1, 0)
	held.Holding = &bench.Holding{Wanted: 1000, Held: 1000}
	held.Totals.Fenced = 20
	for _, r := range []*bench.Result{held, resulttest.Result("raw", 1, 1000)} {
		r.Safety.Unaudited = true
		text := shown(t, "run", resulttest.Document(r))
		require.Contains(t, text, "overlaps not audited")
		require.NotContains(t, text, "overlaps 0")
		require.Equal(t, r == held, strings.Contains(flat(text), "fences 20 fence violations not audited"))
		require.NotContains(t, flat(text), "fence violations 0")
	}
}

func TestFencesOfSeveralNamesAreThoseOfAllNames(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	r.Totals.Fenced, r.Totals.Fences = 699, 904
	require.Contains(t, flat(shown(t, "run", resulttest.Document(r))), "fences 904 fence violations 0")
}

func TestAnEmptyResultIsShown(t *testing.T) {
	empty := &bench.Summary{Unit: "ns", P: map[string]int64{}}
	r := &bench.Result{Impl: "muxlock", Latency: bench.Latencies{bench.AcquireTime: empty, bench.ReleaseTime: empty, bench.CycleTime: empty}}
	for _, command := range []string{"run", "compare"} {
		require.Contains(t, shown(t, command, resulttest.Document(r)), "muxlock")
	}
}

func TestAnOpenLoopShowsItsClocksAndItsTail(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	r.Latency[bench.ResponseTime], r.Latency[bench.WaitTime], r.Latency[bench.LagTime], r.Latency[bench.HoldTime] = resulttest.Summary(1), resulttest.Summary(2), resulttest.Summary(3), resulttest.Summary(4)
	r.Totals = bench.Totals{Offered: 1000, Started: 800, Late: 25, Unfinished: 300, Acquired: 500}
	r.AcquiredPerS, r.Drain = 90, &bench.Point{TS: r.DurationS + 2, Unfinished: 300}
	r.Latency[bench.ResponseTime].Censored, r.Latency[bench.ResponseTime].AtLeast = 3, []string{"99.9", "99.99"}
	doc := resulttest.Document(r)
	r.Invalidate(bench.ReasonGenerator, "by far")
	doc.Config.Rate = 200
	text := flat(shown(t, "run", doc))
	for _, want := range []string{
		"late 25 (3.12%) goodput 45.0% acquired 500 refused 0 timeouts 0 errors 0 unfinished 300 after 2.00s of drain",
		" ~3.00ms ~>=4.00ms ~>=5.00ms >=9.00ms 500",
		"response: 3 (0.60%) never got their lock",
		" response 1.00ns", " wait 2.00ns", " lag 3.00ns", " hold 4.00ns", " acquire ",
		"p99 needs 5s more, p99.9 needs 95s more, p99.99 needs 995s more",
		" late: begun more than 1ms",
		"NOT VALID muxlock: " + string(bench.ReasonGenerator) + ": by far what helps: fewer other programs",
	} {
		require.Contains(t, text, want)
	}
}

func TestLocksThatOutlastTheirValidityAreAWarning(t *testing.T) {
	for _, c := range []struct {
		totals bench.Totals
		want   []string
	}{
		{bench.Totals{Acquired: 4190, Outlived: 88, LostValidity: 88}, []string{"WARNING muxlock: locks outlasted their validity before they were released: 88 (2.10%) what helps: a longer --ttl"}},
		{bench.Totals{Acquired: 99, Outlived: 1, LostValidity: 2, LateQuorum: 1}, []string{"locks outlasted their validity before they were released: 1 (1.01%)", "quorums came too late to leave any validity: 1 (1.00%)"}},
		{bench.Totals{Acquired: 72, Names: 520, LostValidity: 20, LateQuorum: 20}, []string{"WARNING muxlock: quorums came too late to leave any validity: 20 (3.70%)"}},
		{bench.Totals{Acquired: 99}, nil},
	} {
		r := resulttest.Result("muxlock", 1, 100)
		r.Totals = c.totals
		text := flat(shown(t, "run", resulttest.Document(r)))
		for _, want := range c.want {
			require.Contains(t, text, want)
		}
		require.Equal(t, len(c.want), strings.Count(text, "WARNING"))
	}
}

func TestARunWithACrashSaysWhatItLacks(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	for kind, want := range map[string]bool{"kill": false, "crash": true} {
		r.Faults = []bench.Band{{Spec: kind + ":1@1s", Kind: kind, FromS: 1, ToS: 2}}
		require.Equal(t, want, strings.Contains(flat(shown(t, "run", resulttest.Document(r))), "what the killed process did since its last report, up to 1s, is not counted"), kind)
	}
}

func TestARunOfManyNamesSaysHowManyACallGot(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	require.NotContains(t, shown(t, "run", resulttest.Document(r)), "names")
	r.Totals.Acquired, r.Totals.Names = 72, 520
	require.Contains(t, shown(t, "run", resulttest.Document(r)), "acquired 72  names 7.22 a call  refused")
}

func TestHandoverAndFairnessAreShownWhereWorkersWait(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 1000)
	require.NotContains(t, shown(t, "compare", resulttest.Document(r)), "hand-over")

	r.Latency[bench.HandoverTime], r.Latency[bench.RemoteHandoverTime], r.Latency[bench.UncontendedTime] = resulttest.Summary(111_000), resulttest.Summary(222_000), resulttest.Summary(120_000)
	r.Procs, r.Fairness = 2, bench.Fairness{Jain: 0.625, MaxWaitNs: 3_100_000, MeanWaitNs: 1_000_000, PerProc: []int64{400, 100}}
	doc := resulttest.Document(r)
	doc.Config.Procs = 2
	for _, command := range []string{"run", "compare"} {
		for _, want := range []string{"111µs", "222µs", "0.625", "3.1", "2 processes x 64 workers"} {
			require.Contains(t, shown(t, command, doc), want)
		}
	}
	text := flat(shown(t, "run", doc))
	require.Contains(t, text, "longest wait 3.10ms, 3.1 times the mean")
	require.Contains(t, text, "400 (80%) 100 (20%)")
}

func TestHandoversWithinOneProcessAreSaidToAskNoMaster(t *testing.T) {
	const says = "all workers are in one process: there muxlock hands over without asking a master; --procs spreads them"
	for _, command := range []string{"run", "compare", "sweep"} {
		r := resulttest.Result("muxlock", 1, 1000)
		doc := resulttest.Document(r)
		doc.Sweep = result.NewSweep(nil, doc.Results)
		require.NotContains(t, flat(shown(t, command, doc)), says, "none waited")
		r.Latency[bench.HandoverTime], r.Procs = resulttest.Summary(111_000), 1
		text := flat(shown(t, command, doc))
		require.Contains(t, text, "hand-over: from the call of Release")
		require.Contains(t, text, says)
		r.Procs = 2
		text = flat(shown(t, command, doc))
		require.Contains(t, text, "hand-over: from the call of Release")
		require.NotContains(t, text, says)
		r.Procs, r.Impl, doc.Config.Impls = 1, "slow", []string{"slow"}
		require.NotContains(t, flat(shown(t, command, doc)), says, "others ask")
	}
}

func TestFailuresStandBesideTheLatenciesOfTheOthers(t *testing.T) {
	const means = "failure rate: operations that never got their lock: refused, timed out, failed with an error or unfinished; the latencies"
	for _, command := range []string{"compare", "sweep"} {
		some, none := resulttest.Result("muxlock", 1, 1000), resulttest.Result("slow", 1, 1000)
		none.Totals.Offered = 500
		doc := resulttest.Document(some, none)
		doc.Sweep = result.NewSweep(nil, doc.Results)
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

func TestRunTellsWhatItCostAndWhatDisturbedIt(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 1000)
	r.Client.SchedP99Ns, r.Client.CPUShare, r.Client.Stall = 12_300, 0.42, resulttest.Summary(1)
	require.Contains(t, flat(shown(t, "run", resulttest.Document(r))), "client: cpu 12.3µs a cycle allocs 5.25 a cycle 42% of the machine's cpu"+
		" gc pause p99 0ns wait for a processor p99 12.3µs stall p99 ~3.00ms longest 9.00ms ")

	r.ThroughputPerS = 0 // op hold
	require.Contains(t, shown(t, "run", resulttest.Document(r)), "client: 42% of the machine's cpu")
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

func TestAFaultIsShownBesideTheSecondsWithoutOne(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 1000)
	r.Series = nil
	for i, cycles := range []int64{1000, 900, 100, 200, 800} {
		r.Series = append(r.Series, bench.Point{TS: float64(i) + 1.001, Cycles: cycles, P99Ns: cycles * 1000})
	}
	r.Series[3].Errors = 7
	r.Faults = []bench.Band{
		{Spec: "stop:1@2s-4s", FromS: 2.01, ToS: 4.0},
		{Spec: "flush:2@4.5s", FromS: 4.5, ToS: 4.5},
	}
	doc := resulttest.Document(r)
	doc.Config.Faults = []string{"stop:1@2s-4s", "flush:2@4.5s"}
	for _, command := range []string{"run", "compare"} {
		text := flat(shown(t, command, doc))
		require.Contains(t, text, "stop:1@2s-4s 2.01s-4.00s: 150/s p99 150µs, 7 failed in it; 950/s p99 950µs without a fault ")
		require.Contains(t, text, "flush:2@4.5s at 4.50s: 800/s p99 800µs in it; 950/s p99 950µs without a fault ")
	}
}

func TestALatencyOfAFaultMayBeALowerBoundOrMissing(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 1000)
	r.Series = []bench.Point{
		{TS: 1, Cycles: 100, P99Ns: 2e6},
		{TS: 2, Cycles: 1, P99Ns: 5e8, P99AtLeast: true},
		{TS: 3, Cycles: 100, P99Ns: 3e6},
		{TS: 4}, {TS: 5, Cycles: 100, P99Ns: 4e6}, {TS: 6, Cycles: 100, P99Ns: 5e6}, // of a second without operations nothing is known
	}
	r.Faults = []bench.Band{{Spec: "stop:1@1s-2s", FromS: 1, ToS: 2}, {Spec: "flush:2@2.5s", FromS: 2.5, ToS: 2.5}}
	doc := resulttest.Document(r)
	text := flat(shown(t, "run", doc))
	require.Contains(t, text, "1/s p99 >=500ms in it; 100/s p99 4.00ms without a fault")
	require.Contains(t, text, "100/s p99 3.00ms in it")

	for i := range r.Series { // raw has no latency of a second
		r.Series[i].P99Ns, r.Series[i].P99AtLeast = 0, false
	}
	text = flat(shown(t, "run", doc))
	require.Contains(t, text, "1/s in it; 100/s without a fault")
}

func TestARunBelowOneCycleASecondHasCycles(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 0.25)
	r.Totals, r.DurationS = bench.Totals{Offered: 2, Started: 1}, 4
	doc := resulttest.Document(r)
	doc.Config.Rate = 0.5
	require.Contains(t, flat(shown(t, "run", doc)), "0.25 cycles/s over 4.0s offered 0.5/s started 0.25/s late")
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

func TestChaosShowsTheFirstViolationOfEachKind(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	doc := resulttest.Document(r)
	doc.Config.History = "the-file"
	require.NotContains(t, shown(t, "chaos", doc), "the-file")
	require.NotContains(t, shown(t, "chaos", doc), "kept locks")
	r.Kept = &bench.Kept{Held: 1001, Lost: 12, Stopped: 3}
	require.Contains(t, flat(shown(t, "chaos", doc)), "kept locks 1,001, lost 12, 3 of them while their process stood still")
	held := func(key string, worker int, at int64, fence uint64, violates bool) bench.Event {
		return bench.Event{Kind: bench.EventAcquired, Key: key, Worker: worker, ToNs: at * 1e9, UntilNs: (at + 2) * 1e9, Fence: fence, Overlap: violates}
	}
	r.Safety.FenceViolations = 1
	r.History = []bench.Event{held("a", 1, 1, 7, false), held("b", 1, 3, 6, false), held("b", 2, 9, 9, false), held("b", 2, 12, 9, true)}
	text := flat(shown(t, "chaos", doc))
	require.Contains(t, text, "FENCE VIOLATIONS 1: ")
	require.Contains(t, text, "first: b worker 2 from 9.0000s, valid until 11.0000s, fence 9; worker 2 from 12.0000s, valid until 14.0000s, fence 9")
	require.Contains(t, text, "the-file")
	require.NotContains(t, text, "OVERLAPS")
	require.NoError(t, doc.Config.Op.UnmarshalText([]byte("permit:2")))
	text = shown(t, "chaos", doc)
	require.Contains(t, text, "FENCE VIOLATIONS 1: ")
	require.NotContains(t, text, "first: ", "the events do not say which permits are the same")
	doc.Config.Op = bench.AcquireRelease

	r.Safety = bench.Safety{Overlaps: 1}
	r.History = []bench.Event{held("a", 1, 1, 0, false), held("b", 1, 3, 0, false), held("b", 2, 4, 0, true)}
	text = flat(shown(t, "chaos", doc))
	require.Contains(t, text, "first: b worker 1 from 3.0000s, valid until 5.0000s; worker 2 from 4.0000s")
	require.NotContains(t, text, "FENCE")

	r.History = []bench.Event{held("b", 1, 3, 0, false), held("b", 3, 3, 0, false), held("b", 2, 4, 0, true)}
	r.History[1].Kind, r.History[2].Kind = bench.EventRead, bench.EventRead
	require.Contains(t, flat(shown(t, "chaos", doc)), "first: b worker 1 from 3.0000s", "readers share")

	call := func(kind string, worker int, at int64) bench.Event {
		return bench.Event{Kind: kind, Key: "b", Worker: worker, FromNs: at * 1e9, ToNs: at * 1e9}
	}
	for _, c := range []struct {
		last  bench.Event
		first string
	}{
		{call(bench.EventReleased, 3, 4), "first: b worker 1 from 3.0000s"},
		{call(bench.EventReleased, 3, 6), "first: b worker 3 from 3.0000s"},
		{call(bench.EventRefused, 3, 4), "first: b worker 3 from 3.0000s"}, // by a process that took the place of a killed one
	} {
		again := held("b", 2, 5, 0, true)
		again.UntilNs = 9e9
		r.History = []bench.Event{held("b", 1, 3, 0, false), held("b", 3, 3, 0, false), c.last, again}
		r.History[0].UntilNs, r.History[1].UntilNs = 9e9, 9e9
		require.Contains(t, flat(shown(t, "chaos", doc)), c.first, c.last)
	}
}
