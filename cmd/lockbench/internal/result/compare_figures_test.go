package result_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
)

// rounds are runs with these rates, and latencies that go the other way.
func rounds(impl string, rates ...float64) (results []*bench.Result) {
	for i, rate := range rates {
		ns := int64(1e9 / rate)
		s := &bench.Summary{Unit: "ns", Count: 50_000, Max: 10 * ns, P: map[string]int64{"50": ns, "90": 2 * ns, "99": 3 * ns, "99.9": 4 * ns, "99.99": 5 * ns}}
		results = append(results, &bench.Result{
			Impl: impl, Round: i + 1, ThroughputPerS: rate, DurationS: 1, Totals: bench.Totals{Offered: 1000, Acquired: 1000},
			Latency: bench.Latencies{Service: s, Acquire: s, Release: s, Cycle: s},
			Client:  bench.Client{CPUNsPerOp: 1000, AllocsPerOp: 5},
			Valid:   bench.Valid{OK: true, Reasons: []string{}},
		})
	}
	return results
}

func verdicts(rows []result.Row) map[string]string {
	m := map[string]string{}
	for _, row := range rows {
		m[row.Figure] = row.Verdict
		if row.Regression {
			m[row.Figure] += "!"
		}
	}
	return m
}

func TestWhatIsWorseByMoreThanChanceAndTheLimitIsARegression(t *testing.T) {
	old := rounds("a", 1000, 1010, 990, 1005, 995)
	for _, c := range []struct {
		rates []float64
		limit float64
		want  string // of throughput; latencies follow
	}{
		{[]float64{800, 808, 792, 804, 796}, 0.05, result.Worse + "!"},
		{[]float64{800, 808, 792, 804, 796}, 0.5, result.Worse},
		{[]float64{970, 975, 972, 971, 974}, 0.05, result.Worse},
		{[]float64{970, 975, 972, 971, 974}, 0, result.Worse + "!"},
		{[]float64{1200, 1210, 1190, 1205, 1195}, 0.05, result.Better},
		{[]float64{1001, 989, 1012, 600, 1003}, 0.05, result.Chance},
		{[]float64{1000, 1010, 990, 1005, 995}, 0, result.Chance},
		{[]float64{500, 505}, 0.05, result.TooFew},
	} {
		got := verdicts(result.Rows(old, rounds("a", c.rates...), "new", c.limit))
		require.Equal(t, c.want, got["throughput"], c)
		require.Equal(t, c.want, got["cycle_p99"], c)
		require.NotEqual(t, result.Worse+"!", got["cycle_p99.9"], "its regression does not count")
		require.NotContains(t, got["cpu_per_op"], "!")
	}
}

func TestFourRoundsOnEachSideAreEnoughAndThreeAreNot(t *testing.T) {
	four := result.Rows(rounds("a", 10, 11, 12, 13), rounds("a", 1, 2, 3, 4), "new", 0)
	require.Equal(t, result.Worse+"!", verdicts(four)["throughput"])
	require.Len(t, four[0].CI, 2)
	require.Less(t, *four[0].P, 0.05)
	three := result.Rows(rounds("a", 10, 11, 12), rounds("a", 1, 2, 3), "new", 0)
	require.Equal(t, result.TooFew, verdicts(three)["throughput"])
	require.Nil(t, three[0].CI)
}

func TestOnlyWholeRunsOfImplementationsInBothFilesAreCompared(t *testing.T) {
	cut := rounds("a", 1, 1, 1)
	for _, r := range cut {
		r.Invalidate(bench.ReasonInterrupted)
	}
	old := append(rounds("a", 100, 100, 100, 100, 100), rounds("b", 1)...)
	rows := result.Rows(old, append(append(rounds("a", 100, 100, 100, 100, 100), cut...), rounds("c", 1)...), "new", 0)
	require.Len(t, rows, 7)
	require.Equal(t, 5, rows[0].NewRounds)
	require.Empty(t, result.Rows(rounds("b", 1), rounds("c", 1), "new", 0))
}

func TestResponseIsComparedWhereBothHaveIt(t *testing.T) {
	open := rounds("a", 1, 2, 3, 4)
	for _, r := range open {
		r.Latency.Response = r.Latency.Cycle
	}
	require.Contains(t, verdicts(result.Rows(open, open, "new", 0)), "response_p99")
	require.Contains(t, verdicts(result.Rows(open, rounds("a", 1, 2, 3, 4), "new", 0)), "cycle_p99")
}

func TestAPercentileOfFewSamplesIsNotCompared(t *testing.T) {
	few := rounds("a", 1, 2, 3, 4)
	for _, r := range few {
		r.Latency.Cycle.Count = 500
	}
	got := verdicts(result.Rows(few, few, "new", 0))
	require.Equal(t, result.Missing, got["cycle_p99"])
	require.Equal(t, result.Chance, got["cycle_p50"])
}

func files() (older, newer *result.Document) {
	doc := func(workers int, results []*bench.Result) *result.Document {
		cfg := bench.RunConfig{Config: bench.Config{Workers: workers, Duration: time.Second, Seed: uint64(workers)}, Impls: []string{"a"}, Masters: []string{"m:1"}}
		kept := result.NewDocument(result.Config{RunConfig: cfg, Target: "given"}, results)
		return &kept
	}
	return doc(1, rounds("a", 1000, 1010, 990, 1005, 995)), doc(2, append(rounds("a", 800, 808, 792, 804, 796), rounds("c", 1)...))
}

func TestWhatElseWasDifferentIsTold(t *testing.T) {
	older, newer := files()
	require.Empty(t, result.Settings(older, older))
	newer.Env.CPUs++
	newer.Config.Masters = append(newer.Config.Masters, "n:1")
	require.Equal(t, []string{"config.workers", "env.cpus", "masters"}, names(result.Settings(older, newer)), "the seed is no matter")
}

func names(settings []result.Setting) (names []string) {
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return names
}

func TestTheReportNamesRegressionsAndWhatCannotBeCompared(t *testing.T) {
	older, newer := files()
	newer.Results[0].Invalidate("rate not met")
	r := result.CompareFiles([]string{"old.json", "new.json"}, []*result.Document{older, newer}, 0.05)
	require.True(t, slices.ContainsFunc(r.Rows, func(r result.Row) bool { return r.Regression }))
	var shown, document bytes.Buffer
	require.NoError(t, text.Write(&shown, view.Files(r), false))
	for _, want := range []string{"REGRESSION", "other config.workers: 2, was 1", "c is not in old.json", "NOT VALID: 1", "0.008", "1,000", "0.800"} {
		require.Contains(t, shown.String(), want)
	}
	require.NoError(t, result.JSON(&document, r))
	require.NotContains(t, document.String(), "null")
	_, err := result.Read(&document)
	require.ErrorContains(t, err, "holds no results", "a comparison is no result")
}

func TestSettingsOfASweepAreComparedOneByOne(t *testing.T) {
	at := func(workers string, results []*bench.Result) []*bench.Result {
		for _, r := range results {
			r.Setting = map[string]string{"workers": workers}
		}
		return results
	}
	older, newer := files()
	older.Results = append(at("1", rounds("a", 100, 101, 99, 100.5, 99.5)), at("8", rounds("a", 1000, 1010, 990, 1005, 995))...)
	newer.Results = append(at("8", rounds("a", 800, 808, 792, 804, 796)), at("64", rounds("a", 1))...)
	r := result.CompareFiles([]string{"old.json", "new.json"}, []*result.Document{older, newer}, 0.05)
	require.Equal(t, result.Worse+"!", verdicts(r.Rows)["throughput"], "other settings are no rounds")
	require.Equal(t, 5, r.Rows[0].OldRounds)
	require.Equal(t, []string{"a  workers=64"}, r.Files[1].Unmatched)
	var shown, document bytes.Buffer
	require.NoError(t, text.Write(&shown, view.Files(r), false))
	require.Contains(t, shown.String(), "\na  workers=8  new.json\n")
	require.NoError(t, result.JSON(&document, r))
	require.Contains(t, document.String(), `"workers": "8"`)

	newer.Results = append(at("8", rounds("a", 1000)), at("1", rounds("a", 100))...)
	shown.Reset()
	require.NoError(t, text.Write(&shown, view.Files(result.CompareFiles([]string{"old.json", "new.json"}, []*result.Document{older, newer}, 0.05)), false))
	require.Contains(t, shown.String(), "\na  workers=1  new.json\n")
	require.Contains(t, shown.String(), "\na  workers=8  new.json\n", "a table for each")
}

func TestMoreFailuresAreARegression(t *testing.T) {
	older, newer := rounds("a", 1000, 1000, 1000, 1000), rounds("a", 1000, 1000, 1000, 1000)
	for i := range older {
		older[i].Totals = bench.Totals{Offered: 1000, Finished: 1000, Acquired: 1000}
		newer[i].Totals = bench.Totals{Offered: 1000, Finished: 1000, Acquired: int64(900 + i), Failed: int64(100 - i)}
	}
	require.Equal(t, result.Worse+"!", verdicts(result.Rows(older, newer, "new", 0.05))["failure_rate"])
}
