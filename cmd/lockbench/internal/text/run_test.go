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
	require.Contains(t, shown(t, "compare", resulttest.Document(resulttest.Result("muxlock", 1, 1000), resulttest.Result("slow", 1, 2000))), "0.50x")
}

func TestARunShowsWhatItHas(t *testing.T) {
	held := func(r *bench.Result, doc *result.Document) {
		r.ThroughputPerS, r.Totals.Fenced, r.Safety.Unaudited = 0, 20, true
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
			r.Invalidate(bench.ReasonRate, "")
			r.ErrorSamples = []string{"it broke\nbadly"}
		}, "SAFETY VIOLATION muxlock: two held one lock: 3 times|SAFETY VIOLATION muxlock: a fence was not|fences 400 fence violations 2 fences that took a second round trip 1.50%|" +
			"NOT VALID muxlock: rate not met|ERROR muxlock: it broke; badly|~3.00ms", "~2.00ms"}, // 5 of 500 samples lie beyond p99
		"held":   {held, "998 of 1,000 locks held for 5.0s lost 3|111 commands a batch|overlaps not audited lost validity|fences 20 fence violations not audited", "cycles/s|overlaps 0|fence violations 0|a cycle "},
		"raw":    {func(r *bench.Result, doc *result.Document) { r.Safety.Unaudited = true }, "overlaps not audited", "overlaps 0|lost validity"},
		"fences": {totals(bench.Totals{Fenced: 699, Fences: 904}), "fences 904 fence violations 0", ""},
		"empty": {func(r *bench.Result, doc *result.Document) {
			empty := &bench.Summary{Unit: "ns", P: map[string]int64{}}
			*r = bench.Result{Impl: "muxlock", Latency: bench.Latencies{bench.AcquireTime: empty, bench.ReleaseTime: empty, bench.CycleTime: empty}}
		}, "muxlock", ""},
		"outlived":    {totals(bench.Totals{Acquired: 4190, Outlived: 88, LostValidity: 88}), "WARNING muxlock: locks outlasted their validity before they were released: 88 (2.10%) what helps: a longer --ttl", "quorums"},
		"late quorum": {totals(bench.Totals{Acquired: 72, Names: 520, LostValidity: 20, LateQuorum: 20}), "WARNING muxlock: quorums came too late to leave any validity: 20 (3.70%)|names 7.22 a call refused", "outlasted"},
		"crash":       {fault("crash"), "what the killed process did since its last report, up to 1s, is not counted", ""},
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
	held := func(key string, worker int, at int64, fence uint64, violates bool) bench.Event {
		return bench.Event{Kind: bench.EventAcquired, Key: key, Worker: worker, ToNs: at * 1e9, UntilNs: (at + 2) * 1e9, Fence: fence, Overlap: violates}
	}
	long := func(e bench.Event) bench.Event { e.UntilNs = 9e9; return e }
	read := func(e bench.Event) bench.Event { e.Kind = bench.EventRead; return e }
	call := func(kind string, worker int, at int64) bench.Event {
		return bench.Event{Kind: kind, Key: "b", Worker: worker, FromNs: at * 1e9, ToNs: at * 1e9}
	}
	fenced := []bench.Event{held("a", 1, 1, 7, false), held("b", 1, 3, 6, false), held("b", 2, 9, 9, false), held("b", 2, 12, 9, true)}
	third := func(last bench.Event) []bench.Event { // the last event decides whether worker 3 still held it
		return []bench.Event{long(held("b", 1, 3, 0, false)), long(held("b", 3, 3, 0, false)), last, long(held("b", 2, 5, 0, true))}
	}
	const overlaps, fences = "OVERLAPS 1: ", "FENCE VIOLATIONS 1: "
	for _, c := range []struct {
		safety    bench.Safety
		op        string
		history   []bench.Event
		want, not string
	}{
		{bench.Safety{}, "acquire-release", nil, "overlaps 0: no two held one lock at the same time", "the-file"},
		{bench.Safety{FenceViolations: 1}, "acquire-release", fenced, "first: b worker 2 from 9.0000s, valid until 11.0000s, fence 9; worker 2 from 12.0000s, valid until 14.0000s, fence 9", overlaps},
		{bench.Safety{FenceViolations: 1}, "permit:2", fenced, fences, "first: "}, // the events do not say which permits are the same
		{bench.Safety{Overlaps: 1}, "acquire-release", []bench.Event{held("a", 1, 1, 0, false), held("b", 1, 3, 0, false), held("b", 2, 4, 0, true)},
			"first: b worker 1 from 3.0000s, valid until 5.0000s; worker 2 from 4.0000s", fences},
		{bench.Safety{Overlaps: 1}, "acquire-release", []bench.Event{held("b", 1, 3, 0, false), read(held("b", 3, 3, 0, false)), read(held("b", 2, 4, 0, true))}, "first: b worker 1 from 3.0000s", fences},
		{bench.Safety{Overlaps: 1}, "acquire-release", third(call(bench.EventReleased, 3, 4)), "first: b worker 1 from 3.0000s", fences},
		{bench.Safety{Overlaps: 1}, "acquire-release", third(call(bench.EventReleased, 3, 6)), "first: b worker 3 from 3.0000s", fences},
		{bench.Safety{Overlaps: 1}, "acquire-release", third(call(bench.EventRefused, 3, 4)), "first: b worker 3 from 3.0000s", fences}, // by a process that took the place of a killed one
	} {
		r := resulttest.Result("muxlock", 1, 100)
		r.Safety, r.History, r.Kept = c.safety, c.history, &bench.Kept{Held: 1001, Lost: 12, Stopped: 3}
		doc := resulttest.Document(r)
		doc.Config.History = "the-file"
		require.NoError(t, doc.Config.Op.UnmarshalText([]byte(c.op)))
		text := flat(shown(t, "chaos", doc))
		require.Contains(t, text, c.want)
		require.NotContains(t, text, c.not)
		require.Equal(t, c.safety.Overlaps > 0, strings.Contains(text, overlaps))
		require.Equal(t, c.safety.FenceViolations > 0, strings.Contains(text, fences))
		require.Equal(t, c.history != nil, strings.Contains(text, "the-file"))
		require.Contains(t, text, "kept locks 1,001, lost 12, 3 of them while their process stood still")
	}
}
