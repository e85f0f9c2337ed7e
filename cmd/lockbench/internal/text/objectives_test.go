package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestObjectivesAreShownWithTheirVerdicts(t *testing.T) {
	r := resulttest.Result("muxlock", 1, 100)
	r.SLO = []bench.SLO{
		{Text: "acquire.response.p99<5ms", Unit: bench.UnitNs, Value: 3.1e6, Pass: true},
		{Text: "error_rate<0.1%", Unit: bench.UnitShare, Value: 0.0123},
		{Text: "throughput>5k", Value: 1234},
		{Text: "cycle.p99.9<1s", Reason: "too few"},
	}
	doc := resulttest.Document(r)
	doc.Config.Impls = []string{"muxlock"}
	text := shown(t, "run", doc)
	require.Regexp(t, `(?m)^SLO  acquire.response.p99<5ms +3.10ms +PASS$`, text)
	require.Regexp(t, `(?m)^SLO  error_rate<0.1% +1.23% +MISSED$`, text)
	require.Regexp(t, `(?m)^SLO  throughput>5k +1,234 +MISSED$`, text)
	require.Regexp(t, `(?m)^SLO  cycle.p99.9<1s +- +NOT JUDGED: too few$`, text)
}

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
