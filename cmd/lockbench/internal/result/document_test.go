package result_test

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestWhatADocumentIsAboutFollowsFromItsCommand(t *testing.T) {
	for _, c := range []struct {
		command string
		add     func(*result.Document)
		want    result.Kind
	}{
		{"", nil, result.Run},
		{"run", nil, result.Run},
		{"compare", nil, result.Compare},
		{"chaos", nil, result.Chaos},
		{"validate", nil, result.Validate},
		{"sweep", func(d *result.Document) { d.Sweep = &bench.Sweep{} }, result.Sweep},
		{"sweep", func(d *result.Document) { d.Sweep, d.Capacity = &bench.Sweep{}, make([]bench.Capacity, 1) }, result.Capacity},
		{"sweep", nil, result.Run}, // ended before there was any
		{"advise", nil, result.Run},
		{"advise", func(d *result.Document) { d.Advice = &advice.Advice{} }, result.Advise},
		{"compare", func(d *result.Document) { d.Advice = &advice.Advice{} }, result.Advise}, // of a kept result
	} {
		doc := resulttest.Document()
		doc.Config.Command = c.command
		if c.add != nil {
			c.add(&doc)
		}
		require.Equal(t, c.want, doc.Kind(), "%+v", c)
	}
}

func TestEveryFigureHasItsColumnsInCSV(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, result.CSV(&b, resulttest.Document()))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	for _, f := range bench.Figures() {
		if f.Name != "throughput" { // throughput_per_s
			require.Contains(t, rows[0], f.Name)
		}
	}
	for _, timing := range bench.Timings() {
		if timing.Name != "acquire" { // the same as service
			require.Contains(t, rows[0], timing.Name+"_p99_ns")
		}
	}
	seen := map[string]bool{}
	for _, name := range rows[0] {
		require.False(t, seen[name], name)
		seen[name] = true
	}
}
