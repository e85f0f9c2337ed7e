package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/resulttest"
)

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
