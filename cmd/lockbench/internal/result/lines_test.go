package result_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
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
	show := result.Seconds(&b, func(err error) { t.Error(err) })
	show(bench.Progress{Impl: "muxlock", Round: 2, Warmup: true})
	show(bench.Progress{Impl: "muxlock", Round: 2}) // the measured time begins
	show(bench.Progress{Impl: "muxlock", Round: 2, Point: bench.Point{TS: 1, Cycles: 7}})
	show(bench.Progress{Impl: "muxlock", Round: 2, Result: &bench.Result{}})
	require.NoError(t, result.NDJSON(&b, resulttest.Document(resulttest.Result("muxlock", 1, 100), resulttest.Result("slow", 1, 50))))
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
	require.EqualValues(t, bench.SchemaVersion, all[3]["schema_version"])
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
	show := result.Seconds(w, func(err error) { told = append(told, err) })
	for range 4 {
		show(bench.Progress{Point: bench.Point{TS: 1}})
	}
	require.Equal(t, []error{errBroken}, told)
	require.Equal(t, 2, w.writes)
}

func TestCSVHasARowForEachResultAndColumnsThatStay(t *testing.T) {
	r := resulttest.Result("mux,lock", 1, 1234.5)
	r.SLO = []bench.SLO{{Text: "jain>1", Pass: true}, {Text: "overlaps>0"}}
	r.Invalidate("rate not met")
	var b bytes.Buffer
	require.NoError(t, result.CSV(&b, resulttest.Document(r, resulttest.Result("slow", 2, 50))))
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

func TestJSONConfigHoldsTheWorkloadAndItsSurroundings(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, resulttest.Document(resulttest.Result("muxlock", 1, 100))))
	var doc struct {
		SchemaVersion int `json:"schema_version"`
		Config        struct {
			Workers int
			Dist    string
			Impls   []string
			Target  string
			Server  string
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	require.Equal(t, bench.SchemaVersion, doc.SchemaVersion)
	require.Equal(t, 64, doc.Config.Workers)
	require.Equal(t, "own", doc.Config.Dist)
	require.Equal(t, "local", doc.Config.Target)
	require.Equal(t, "redis 7.0.15", doc.Config.Server)
}
