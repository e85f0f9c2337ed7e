package result

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/testing/golden"
)

func judged() *bench.Result {
	h := bench.NewHistogram()
	for i := range int64(1000) {
		h.Record((i+1)*1000, 1)
	}
	text, _ := h.MarshalText()
	s := h.Summary()
	s.HDR = string(text)
	return &bench.Result{
		ThroughputPerS: 5000,
		Totals:         bench.Totals{Offered: 1000, Started: 500, Errors: 1, Timeouts: 20, Refused: 300, Acquired: 98, LostValidity: 4, LateQuorum: 2},
		Latency:        bench.Latencies{bench.ResponseTime: s, bench.AcquireTime: s, bench.ReleaseTime: s, bench.CycleTime: &bench.Summary{}},
		Fairness:       bench.Fairness{Jain: 0.9, MaxWaitNs: 77},
		Client:         bench.Client{CPUNsPerOp: 9999, AllocsPerOp: 6},
	}
}

func TestAnObjectiveIsMetOrMissedAsItsTextSays(t *testing.T) {
	for text, pass := range map[string]bool{
		"acquire.response.p99<1ms": true, "acquire.response.p99<900us": false, "response.p50<=501us": true,
		"response.p75<760us": true, "response.p75>740us": true, // not kept: from the histogram
		"acquire.service.p90 > 800us": true, "release.mean<501us": true, "release.mean<500us": false,
		"release.max<2ms": true, "release.min<=1us": true, "release.max<1ms": false,
		"throughput==5k": true, "throughput>=5000": true, "throughput>5k": false, "throughput==0.005M": true,
		"error_rate<0.1%": false, "error_rate<=0.5%": true, "error_rate==0.1%": true, "error_rate<=100%": true,
		"timeout_rate<3%": true, "timeout_rate<1%": false, "refused_rate==30%": true,
		"lost_validity_rate<=9%": true, "lost_validity_rate<3.9%": false,
		"overlaps==0": true, "overlaps>0": false, "jain>=0.9": true, "jain>0.9": false, "max_wait_ns<78ns": true,
		"cpu_ns_per_op<10us": true, "allocs_per_op<=6": true, "allocs_per_op<6": false,
	} {
		s := must(ParseObjective(text)).Judge(judged())
		require.Equal(t, pass, s.Pass, text)
		require.Empty(t, s.Reason, text)
		require.Equal(t, strings.ReplaceAll(text, " ", ""), s.Text)
	}
}

func TestWhatEndsInTheDrainIsAPartOfWhatWasOffered(t *testing.T) {
	r := &bench.Result{Totals: bench.Totals{Offered: 400, Started: 100, Errors: 300, Timeouts: 300, Refused: 300, Late: 25}}
	for name, want := range map[string]float64{"error_rate": 0.75, "timeout_rate": 0.75, "refused_rate": 0.75, "late_rate": 0.25} {
		v, _ := MustFigure(name).Median([]*bench.Result{r})
		require.Equal(t, want, v, name)
	}
}

func TestSharesOfSeveralNamesAreOfNames(t *testing.T) {
	lost, trips := MustFigure("lost_validity_rate"), MustFigure("fence_second_trip_rate")
	for _, c := range []struct {
		totals      bench.Totals
		lost, trips float64
	}{
		{bench.Totals{Acquired: 50, Fenced: 50, LateQuorum: 25, LostValidity: 30, FenceSecondTrips: 5}, 0.4, 0.1},
		{bench.Totals{Acquired: 50, Names: 475, Fenced: 50, Fences: 475, LateQuorum: 25, LostValidity: 25, FenceSecondTrips: 95}, 0.05, 0.2},
		{bench.Totals{Acquired: 50, Names: 475, LateQuorum: 25, LostValidity: 75, FenceSecondTrips: 1, Fenced: 1}, 1, 1}, // all outlived
		{bench.Totals{Acquired: 75, Fenced: 75, Fences: 300, LateQuorum: 25, LostValidity: 25, FenceSecondTrips: 150}, 0.25, 0.5},
	} {
		r := []*bench.Result{{Totals: c.totals}}
		lostShare, _ := lost.Median(r)
		tripShare, _ := trips.Median(r)
		require.InDeltaSlice(t, []float64{c.lost, c.trips}, []float64{lostShare, tripShare}, 1e-9, c.totals)
	}
}

func TestAnObjectiveKeepsValueAndLimitInOneUnit(t *testing.T) {
	s := must(ParseObjective("acquire.response.p50<5ms")).Judge(judged())
	require.Equal(t, bench.SLO{Text: "acquire.response.p50<5ms", Unit: "ns", Limit: 5e6, Value: 500_223, Pass: true}, s)
}

func TestAShareOfOperationsPassesByItsUpperBound(t *testing.T) {
	for text, samples := range map[string]int64{
		"error_rate<=1%": 299, "response.p99<1s": 1000, "response.max<1s": 1, "error_rate<=1e-300": 1 << 62, // more than any run has
	} {
		require.Equal(t, samples, must(ParseObjective(text)).Samples(), text)
	}
	exactly := strconv.FormatFloat(sizing.AtMost(1, 306), 'f', -1, 64)
	for _, c := range []struct {
		text            string
		errors, offered int64
		pass            bool
		reason          string
	}{
		{"error_rate<=1%", 0, 299, true, ""},
		{"error_rate<=1%", 0, 298, false, "0 of 298 may be up to 1%, with 95 %: it takes more operations"},
		{"error_rate<=1%", 1, 306, false, "1 of 306 may be up to 1.5%, with 95 %: it takes more operations"},
		{"error_rate<" + exactly, 1, 306, true, ""}, // the limit itself
		{"error_rate<=1%", 4, 300, false, ""},       // it cannot be met
		{"error_rate==0%", 0, 10, true, ""},         // what was counted
		{"error_rate<=0%", 0, 10, true, ""},
		{"error_rate>=0.1%", 1, 10, true, ""},
	} {
		s := must(ParseObjective(c.text)).Judge(&bench.Result{Totals: bench.Totals{Errors: c.errors, Offered: c.offered}})
		require.Equal(t, c.pass, s.Pass, c)
		require.Equal(t, c.reason, s.Reason, c)
	}
}

func TestATailOfFewerThanTenSamplesIsNotJudged(t *testing.T) {
	for text, reason := range map[string]string{
		"response.p99<1h":    "", // 10 of 1000
		"response.p99.1<1h":  "9 of 1000 samples lie beyond it, 10 are needed",
		"response.p99.9<1h":  "1 of 1000 samples lie beyond it, 10 are needed",
		"response.p0.5>0s":   "5 of 1000 samples lie beyond it, 10 are needed",
		"cycle.p50<1h":       "no cycle was measured",
		"handover.max<1h":    "no handover was measured",
		"response.p99.9>1ns": "1 of 1000 samples lie beyond it, 10 are needed",
	} {
		s := must(ParseObjective(text)).Judge(judged())
		require.Equal(t, reason == "", s.Pass, text)
		require.Equal(t, reason, s.Reason, text)
	}
	r := judged()
	for text, censored := range map[string]int64{"response.p99<1h": 20, "response.mean<1h": 1, "response.max<1h": 1} {
		r.Latency[bench.ResponseTime].Censored = censored
		require.False(t, must(ParseObjective(text)).Judge(r).Pass, "a lower bound meets no upper limit")
	}
	r.Totals = bench.Totals{}
	require.Contains(t, must(ParseObjective("error_rate<1%")).Judge(r).Reason, "nothing was begun")
	r.Latency[bench.ResponseTime].HDR = ""
	require.Contains(t, must(ParseObjective("response.p75<1s")).Judge(r).Reason, "keeps no such percentile")
}

func TestOverlapsOfARunThatWasNotAuditedAreNotJudged(t *testing.T) {
	require.True(t, must(ParseObjective("fence_violations==0")).OfAudit())
	o, r := must(ParseObjective("overlaps==0")), judged()
	require.True(t, o.OfAudit())
	require.True(t, o.Judge(r).Pass)
	r.Safety.Unaudited = true
	require.Equal(t, bench.SLO{Text: "overlaps==0", Unit: bench.UnitCount, Reason: "the run was not audited"}, o.Judge(r))
}

// testdata/refused.txt has texts of objectives, each with its error in the line below.
func TestAnObjectiveThatCannotBeReadSaysWhatThereIs(t *testing.T) {
	golden.Answers(t, "refused.txt", func(text string) []string {
		_, err := ParseObjective(text)
		require.ErrorIs(t, err, bench.ErrConfig, text)
		return []string{err.Error()}
	})
}

func TestAnObjectiveKnowsWhichRunsCannotHaveItsFigure(t *testing.T) {
	load := func(op string, change func(*bench.Config)) bench.Config {
		cfg := closedLoop()
		require.NoError(t, cfg.Op.UnmarshalText([]byte(op)))
		change(&cfg)
		return cfg
	}
	is := func(*bench.Config) {}
	held := func(c *bench.Config) { c.Hold = bench.Fixed(time.Millisecond) }
	shared := func(procs int) func(*bench.Config) {
		return func(c *bench.Config) { c.Dist, c.Procs = bench.Uniform(), procs }
	}
	loads := map[string]bench.Config{
		"closed": load("acquire-release", is), "open": load("acquire-release", func(c *bench.Config) { c.Rate = 10 }), "held": load("acquire-release", held),
		"shared": load("acquire-release", shared(2)), "one process": load("acquire-release", shared(1)),
		"extending": load("mix:acquire-release=9,extend=1", is), "trying": load("mix:acquire-release=9,try=1", is), "holding": load("hold", held),
	}
	const cycling = "closed, open, held, shared, one process, extending, trying"
	for text, c := range map[string]struct{ possible, lacking, needs string }{ // in these loads alone; what that one lacks
		"acquire.response.p99<1s": {"open", "closed", "an open loop"},
		"wait.p99<1s":             {"open", "closed", "an open loop"},
		"late_rate<1%":            {"open", "closed", "an open loop"},
		"handover.p50<1s":         {"shared, one process", "closed", "shared names"},
		"handover_remote.max<1s":  {"shared", "one process", "--procs"},
		"extend.p50<1s":           {"extending", "trying", "extends: --op mix:acquire-release=90,extend=10"},
		"hold.p99<1s":             {"held", "closed", "locks that are held (--hold)"},
		"acquire.p99<1s":          {cycling + ", holding", "", ""},
		"overlaps==0":             {cycling, "holding", "an audit: --op hold has none"},
		"throughput>1":            {cycling, "holding", "cycles: --op hold has none"},
		"acquired_per_s<9":        {cycling, "holding", "cycles: --op hold has none"}, // it would pass, since nothing is measured
	} {
		for name, cfg := range loads {
			err := must(ParseObjective(text)).Possible(cfg)
			require.Equal(t, slices.Contains(strings.Split(c.possible, ", "), name), err == nil, "%s %s", text, name)
			if name == c.lacking {
				require.ErrorIs(t, err, bench.ErrConfig)
				require.ErrorContains(t, err, "--slo "+text+" needs ")
				require.ErrorContains(t, err, c.needs)
			}
		}
	}
}

func TestAnObjectiveImpliesThatLocksAreHadAtTheRateAskedFor(t *testing.T) {
	implied := func(cfg bench.Config, given ...string) (texts []string) {
		var all []Objective
		for _, text := range given {
			all = append(all, must(ParseObjective(text)))
		}
		for _, o := range Implied(all, cfg) {
			texts = append(texts, o.String())
		}
		return texts
	}
	closed, open := closedLoop(), closedLoop()
	open.Rate = 10
	require.Equal(t, []string{"failure_rate<=1%", "goodput>=95%"}, implied(open, "response.p99<5ms"))
	require.Equal(t, []string{"failure_rate<=1%"}, implied(closed, "cycle.p99<5ms"), "a closed loop asks as it acquires")
	require.Equal(t, []string{"goodput>=95%"}, implied(open, "failure_rate<50%"), "what the user says")
	for op, answers := range map[string]bool{"try": true, "many:3": true, "mix:acquire-release=9,try=1": true,
		"mix:acquire-release=9,extend=1": false, "all:3": false, "permit:3": false, "read-write:80": false} {
		require.NoError(t, open.Op.UnmarshalText([]byte(op)))
		require.Equal(t, !answers, slices.Contains(implied(open), "goodput>=95%"), "%s: a refusal is an answer", op)
		require.Contains(t, implied(open), "failure_rate<=1%", op)
	}
}

// closedLoop is a load without the figures of an open loop, of shared names or of extending.
func closedLoop() bench.Config {
	return bench.Config{Workers: 4, Duration: time.Second, TTL: time.Second}
}
