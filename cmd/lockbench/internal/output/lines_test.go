package output_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/output"
)

// lines decodes what -o ndjson writes.
func lines(t *testing.T, text string) (all []map[string]any) {
	for line := range strings.Lines(text) {
		require.True(t, strings.HasSuffix(line, "\n"))
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		all = append(all, v)
	}
	return all
}

func TestNDJSONIsSecondsThenResultsThenAnEnd(t *testing.T) {
	var b bytes.Buffer
	s := output.NewSeconds(&b, func(err error) { t.Error(err) })
	s.Show(bench.Progress{Impl: "muxlock", Round: 2, Warmup: true})
	s.Show(bench.Progress{Impl: "muxlock", Round: 2}) // the measured time begins
	s.Show(bench.Progress{Impl: "muxlock", Round: 2, Point: bench.Point{TS: 1, Cycles: 7}})
	s.Show(bench.Progress{Impl: "muxlock", Round: 2, Result: &bench.Result{}})
	require.NoError(t, output.NDJSON(&b, document(result("muxlock", 1, 100), result("slow", 1, 50))))
	all := lines(t, b.String())
	require.Len(t, all, 4)
	var types []any
	for _, line := range all {
		types = append(types, line["type"])
	}
	require.Equal(t, []any{"second", "result", "result", "end"}, types)
	require.EqualValues(t, 2, all[0]["round"])
	require.EqualValues(t, 7, all[0]["cycles"])
	require.Equal(t, "slow", all[2]["impl"])
	require.EqualValues(t, 2, all[3]["results"])
	require.EqualValues(t, 1, all[3]["schema_version"])
	require.EqualValues(t, 64, all[3]["config"].(map[string]any)["workers"])
}

// broken fails after the first write.
type broken struct{ writes int }

var errBroken = errors.New("broken")

func (b *broken) Write(p []byte) (int, error) {
	if b.writes++; b.writes > 1 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestSecondsEndWithTheFirstError(t *testing.T) {
	w := &broken{}
	var told []error
	s := output.NewSeconds(w, func(err error) { told = append(told, err) })
	for range 4 {
		s.Show(bench.Progress{Point: bench.Point{TS: 1}})
	}
	require.Equal(t, []error{errBroken}, told)
	require.Equal(t, 2, w.writes)
}

func TestCSVHasARowForEachResultAndColumnsThatStay(t *testing.T) {
	r := result("mux,lock", 1, 1234.5)
	r.SLO = []bench.SLO{{Text: "jain>1", Pass: true}, {Text: "overlaps>0"}}
	r.Invalidate("rate not met")
	var b bytes.Buffer
	require.NoError(t, output.CSV(&b, document(r, result("slow", 2, 50))))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	at := func(row int, name string) string {
		for i, column := range rows[0] {
			if column == name {
				return rows[row][i]
			}
		}
		t.Fatal(name)
		return ""
	}
	require.Equal(t, "mux,lock", at(1, "impl"))
	require.Equal(t, "1234.5", at(1, "throughput_per_s"))
	require.Equal(t, "3000000", at(1, "cycle_p99_ns"))
	require.Equal(t, "2000000", at(1, "cycle_mean_ns"))
	require.Empty(t, at(1, "response_p99_ns"), "not measured")
	require.Equal(t, "overlaps>0", at(1, "slo_missed"))
	require.Equal(t, "false", at(1, "valid"))
	require.Equal(t, "rate not met", at(1, "reasons"))
	require.Equal(t, "slow", at(2, "impl"))
	// Whoever reads columns by number relies on these.
	require.Equal(t, "impl", rows[0][0])
	require.Equal(t, "throughput_per_s", rows[0][8])
	require.Equal(t, "response_count", rows[0][17])
	require.Equal(t, "reasons", rows[0][100])
}

func TestObjectivesAreShownWithTheirVerdicts(t *testing.T) {
	r := result("muxlock", 1, 100)
	r.SLO = []bench.SLO{
		{Text: "acquire.response.p99<5ms", Unit: bench.UnitNs, Value: 3.1e6, Pass: true},
		{Text: "error_rate<0.1%", Unit: bench.UnitShare, Value: 0.0123},
		{Text: "throughput>5k", Value: 1234},
		{Text: "cycle.p99.9<1s", Reason: "too few"},
	}
	doc := document(r)
	doc.Config.Impls, doc.Config.SLO = []string{"muxlock"}, nil
	for _, s := range r.SLO {
		doc.Config.SLO = append(doc.Config.SLO, s.Text)
	}
	for _, write := range []func() string{
		func() string { var b bytes.Buffer; require.NoError(t, output.Run(&b, doc, nil)); return b.String() },
		func() string { var b bytes.Buffer; require.NoError(t, output.Compare(&b, doc, nil)); return b.String() },
	} {
		text := write()
		require.Regexp(t, `(?m)^SLO  acquire.response.p99<5ms +3.10ms +PASS$`, text)
		require.Regexp(t, `(?m)^SLO  error_rate<0.1% +1.23% +MISSED$`, text)
		require.Regexp(t, `(?m)^SLO  throughput>5k +1,234 +MISSED$`, text)
		require.Regexp(t, `(?m)^SLO  cycle.p99.9<1s +- +NOT JUDGED: too few$`, text)
	}
}

func TestObjectivesOfSeveralRoundsAreOneLine(t *testing.T) {
	var results []*bench.Result
	for i, value := range []float64{1e6, 2e6, 9e6} {
		r := result("muxlock", i+1, 100)
		r.SLO = []bench.SLO{{Text: "cycle.p50<5ms", Unit: bench.UnitNs, Value: value, Pass: value < 5e6}}
		results = append(results, r)
	}
	doc := document(results...)
	doc.Config.SLO = []string{"cycle.p50<5ms"}
	text := func() string { var b bytes.Buffer; require.NoError(t, output.Compare(&b, doc, nil)); return b.String() }
	require.Regexp(t, `(?m)^SLO  muxlock  cycle.p50<5ms  2.00ms  MISSED \(met in 2 of 3 rounds\)$`, text())
	results[2].SLO[0] = bench.SLO{Text: "cycle.p50<5ms", Reason: "too few"}
	require.Regexp(t, `(?m)NOT JUDGED \(met in 2 of 3 rounds\): too few$`, text())
	results[2].SLO[0] = results[0].SLO[0]
	require.Regexp(t, `(?m)PASS \(met in 3 of 3 rounds\)$`, text())
}
