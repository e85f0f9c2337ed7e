package result

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
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
		"throughput>4.9k": true, "throughput>=5000": true, "throughput>5k": false, "throughput<0.01M": true,
		"error_rate<0.1%": false, "error_rate<=0.5%": true, "error_rate==0.1%": true,
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
		{bench.Totals{Acquired: 50, Names: 475, LateQuorum: 25, LostValidity: 75, FenceSecondTrips: 0, Fenced: 1}, 1, 0}, // all outlived
		{bench.Totals{Acquired: 75, Fenced: 75, Fences: 300, LateQuorum: 25, LostValidity: 25, FenceSecondTrips: 150}, 0.25, 0.5},
	} {
		r := []*bench.Result{{Totals: c.totals}}
		v, ok := lost.Median(r)
		require.True(t, ok)
		require.InDelta(t, c.lost, v, 1e-9, c.totals)
		v, ok = trips.Median(r)
		require.True(t, ok)
		require.InDelta(t, c.trips, v, 1e-9, c.totals)
	}
}

func TestAnObjectiveKeepsValueAndLimitInOneUnit(t *testing.T) {
	s := must(ParseObjective("acquire.response.p99<5ms")).Judge(judged())
	require.Equal(t, "ns", s.Unit)
	require.EqualValues(t, 5*time.Millisecond, s.Limit)
	require.InEpsilon(t, 990_000, s.Value, 0.001)
}

func TestAShareOfOperationsPassesByItsUpperBound(t *testing.T) {
	objective := func(text string) Objective { return must(ParseObjective(text)) }
	of := func(errors, offered int64) *bench.Result {
		return &bench.Result{Totals: bench.Totals{Errors: errors, Offered: offered}}
	}
	o := objective("error_rate<=1%")
	require.EqualValues(t, 299, o.Samples())
	require.EqualValues(t, 1000, objective("response.p99<1s").Samples())
	require.EqualValues(t, 1<<62, objective("error_rate<=1e-300").Samples(), "more than any run has")
	require.True(t, o.Judge(of(0, 299)).Pass)
	few := o.Judge(of(0, 298))
	require.False(t, few.Pass)
	require.Equal(t, "0 of 298 may be up to 1%, with 95 %: it takes more operations", few.Reason)
	require.False(t, o.Judge(of(1, 300)).Pass)
	require.NotEmpty(t, o.Judge(of(1, 300)).Reason, "it may be met")
	missed := o.Judge(of(4, 300))
	require.False(t, missed.Pass)
	require.Empty(t, missed.Reason)
	require.True(t, objective("error_rate==0%").Judge(of(0, 10)).Pass, "what was counted")
	require.True(t, objective("error_rate<=0%").Judge(of(0, 10)).Pass)
	require.True(t, objective("error_rate>=0.1%").Judge(of(1, 10)).Pass)
}

func TestATailOfFewerThanTenSamplesIsNotJudged(t *testing.T) {
	for text, reason := range map[string]string{
		"response.p99<1h":    "", // 10 of 1000
		"response.p99.1<1h":  "9 of 1000 samples",
		"response.p99.9<1h":  "1 of 1000 samples",
		"response.p0.5>0s":   "5 of 1000 samples",
		"cycle.p50<1h":       "no cycle was measured",
		"handover.max<1h":    "no handover was measured",
		"response.p99.9>1ns": "1 of 1000 samples",
	} {
		s := must(ParseObjective(text)).Judge(judged())
		require.Equal(t, reason == "", s.Pass, text)
		require.Contains(t, s.Reason, reason, text)
	}
	r := judged()
	r.Latency[bench.ResponseTime].Censored = 20
	require.False(t, must(ParseObjective("response.p99<1h")).Judge(r).Pass, "a lower bound meets no upper limit")
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
	s := o.Judge(r)
	require.False(t, s.Pass)
	require.Equal(t, "the run was not audited", s.Reason)
}

func TestAnObjectiveThatCannotBeReadSaysWhatThereIs(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "FIGURE OP VALUE",
		"throughput":           "FIGURE OP VALUE",
		"throughput=5":         "FIGURE OP VALUE",
		"<5ms":                 "there is no figure",
		"speed>5":              "there are acquired_per_s, allocs_per_op, cpu_ns_per_op",
		"thruput>5":            "there are",
		"troughput>5":          "did you mean throughput?",
		"overlap==0":           "did you mean overlaps?",
		"respons<5ms":          "did you mean response.p99?",
		"responce.p99<5ms":     "did you mean response.p99?",
		"hand_over.p50<5ms":    "did you mean handover.p50?",
		"speed.p99<5ms":        "of acquire, cycle, extend, handover, handover_remote, hold, lag, release, response",
		"response<5ms":         "percentiles such as p50",
		"response.p100<5ms":    "percentiles such as p50",
		"response.p0<5ms":      "percentiles such as p50",
		"response.pNaN<5ms":    "percentiles such as p50",
		"response.median<5ms":  "percentiles such as p50",
		"response.p99<5":       "not a time",
		"response.p99<5parsec": "not a time",
		"response.p99<-5ms":    "not a time",
		"response.p99<":        "not a time",
		"error_rate<5ms":       "not a share",
		"error_rate<101%":      "not a share",
		"error_rate<NaN":       "not a share",
		"throughput>5ms":       "not a number",
		"throughput>Inf":       "not a number",
		"jain>0.9.1":           "not a number",
	} {
		_, err := ParseObjective(text)
		require.ErrorIs(t, err, bench.ErrConfig, text)
		require.ErrorContains(t, err, "--slo ", text)
		require.ErrorContains(t, err, want, text)
	}
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
