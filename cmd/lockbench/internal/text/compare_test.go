package text_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/testing/golden"
)

// loads returns a comparison of three loads, each of so many rounds. polls has the lower p50 where names are shared.
func loads(rounds int) result.Document {
	var results []*bench.Result
	add := func(load result.LoadName, impl string, round int, throughput float64, p50, p99 int64) {
		r := resulttest.Result(impl, round, throughput)
		r.Setting = map[string]string{result.LoadSetting: string(load)}
		s := *r.Latency[bench.AcquireTime]
		s.P = map[string]int64{"50": p50, "99": p99}
		r.Latency[bench.AcquireTime], r.AcquiredPerS = &s, throughput
		if load == result.OneName {
			r.Keys, r.Latency[bench.HandoverTime], r.Latency[bench.HoldTime] = 1, &s, &bench.Summary{Count: 1, Mean: 1e6}
		}
		results = append(results, r)
	}
	for round := 1; round <= rounds; round++ {
		jitter := float64(round)
		add(result.OwnNames, "muxlock", round, 8000+jitter, 1e6, 2e6)
		add(result.OwnNames, "polls", round, 1000, 1e6, 2e6)
		add(result.OwnNames, "slow", round, 500, 1e6, 2e6)
		add(result.OwnNames, "one", round, 9000+2*jitter, 1e6, 2e6)
		add(result.LoneCaller, "muxlock", round, 150+jitter/10, 1e6, 2e6)
		add(result.LoneCaller, "polls", round, 100, 1e6, 2e6)
		add(result.OneName, "muxlock", round, 900+jitter, 15e6, 35e6)
		add(result.OneName, "polls", round, 300, 1e6, 1050e6+int64(round))
		add(result.OneName, "slow", round, 300, 20e6, 1050e6+int64(round))
	}
	doc := resulttest.Document(results...)
	cfg := doc.Config
	load := func(name result.LoadName, workers, procs, keys int, impls ...string) {
		c := cfg.Config
		if c.Workers, c.Procs, c.Keys = workers, procs, keys; keys > 0 {
			c.Dist = bench.Uniform()
		}
		cfg.Loads = append(cfg.Loads, result.Load{Name: name, Config: c, Impls: impls})
	}
	load(result.OwnNames, 2, 1, 0, "muxlock", "polls", "slow", "one")
	load(result.LoneCaller, 1, 1, 0, "muxlock", "polls")
	load(result.OneName, 1, 2, 1, "muxlock", "polls", "slow")
	cfg.Command, cfg.Reference, cfg.Rounds = "compare", "muxlock", rounds
	return result.NewDocument(cfg, results)
}

func compared(t *testing.T, doc result.Document) string {
	t.Helper()
	var b bytes.Buffer
	traits := map[string]view.Trait{"polls": {Polls: true}, "slow": {Polls: true}, "one": {Single: true}}
	page := view.New(doc, traits, "")
	require.NoError(t, text.Write(&b, page, false))
	for _, block := range page.Body {
		if block.For == view.Browser && (block.Line != "" || block.Bars != nil) {
			fmt.Fprintf(&b, "browser: %s%+v bad: %v\n", block.Line, block.Bars, block.Bad)
		}
	}
	return b.String()
}

// Below six rounds there is no interval and no verdict. Rounds that differ are named. The end may come before most of it was run.
func TestAComparisonSaysWhatItFoundAndWhyARivalIsAhead(t *testing.T) {
	text := compared(t, loads(6)) + compared(t, loads(5))
	doc := loads(2)
	for i, r := range result.OfLoad(result.Finished(doc.Results, "polls"), result.OwnNames) {
		r.ThroughputPerS = []float64{400 / 4.31, 8002 / 39.7}[i]
	}
	result.OfLoad(result.Finished(doc.Results, "muxlock"), result.OwnNames)[0].ThroughputPerS = 400
	text += compared(t, result.NewDocument(doc.Config, doc.Results))
	for _, results := range [][]*bench.Result{doc.Results[:1], {doc.Results[0], doc.Results[4]}} {
		text += compared(t, result.NewDocument(doc.Config, results))
	}
	behind := loads(6)
	behind.Config.Reference = "polls"
	golden.Equal(t, "loads.txt", text+compared(t, result.NewDocument(behind.Config, behind.Results)))
}
