package html_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/html"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/testing/golden"
)

// page returns the page of a document, with more at its end.
func page(t *testing.T, doc result.Document, more ...view.Block) string {
	t.Helper()
	var b bytes.Buffer
	shown := view.New(doc, map[string]view.Trait{"slow": {Caveat: "is slow"}}, "lockbench run")
	shown.Body = append(shown.Body, more...)
	require.NoError(t, html.Write(&b, shown))
	return b.String()
}

// documents returns one document of each kind.
func documents() map[string]result.Document {
	closed := full("muxlock", 1, 1)
	closed.Latency[bench.ResponseTime], closed.Latency[bench.WaitTime], closed.Latency[bench.LagTime] = nil, nil, nil
	closed.Latency[bench.HandoverTime], closed.Latency[bench.RemoteHandoverTime] = nil, nil
	closedDoc := document("run", closed)
	closedDoc.Config.Rate = 0
	zeros := &bench.Result{Impl: "muxlock", Round: 1, Series: []bench.Point{{}, {TS: 1}}, PerMaster: []bench.Master{{Addr: "a:1"}}}
	none := &bench.Summary{Unit: "ns", P: map[string]int64{}}
	zeros.Latency = bench.Latencies{bench.AcquireTime: none, bench.ReleaseTime: none, bench.CycleTime: none, bench.HandoverTime: none}
	zeros.Invalidate(bench.ReasonNothing, "")
	good, raw, bad, stuck := full("muxlock", 1, 1), full("raw", 2, 9), full("muxlock", 1, 1), full("muxlock", 1, 1)
	good.SLO, raw.SLO, raw.Safety.Unaudited, good.ErrorSamples, raw.ErrorSamples = nil, nil, true, nil, nil
	for _, r := range []*bench.Result{good, raw, bad} {
		r.Latency = bench.Latencies{bench.AcquireTime: r.Latency[bench.AcquireTime], bench.CycleTime: r.Latency[bench.CycleTime]}
	}
	bad.Series, bad.Safety.Overlaps = nil, 3
	bad.Invalidate(bench.ReasonRate, "")
	h := bench.NewHistogram()
	h.Record(1e6, 9_000)
	h.RecordAtLeast(50e6, 1_000) // never got their lock
	stuck.Latency = bench.Latencies{bench.ResponseTime: h.Summary(), bench.CycleTime: stuck.Latency[bench.CycleTime]}
	stuck.Totals.Unfinished, stuck.Drain = 7, &bench.Point{TS: stuck.DurationS + 2, Acquired: 5, Unfinished: 7, P99Ns: 60e6, P99AtLeast: true}
	stuck.SLO = []bench.SLO{{Text: "response.p99<200ms", Unit: bench.UnitNs, Value: 50e6, Limit: 200e6, AtLeast: true}}
	return map[string]result.Document{
		"run":     document("run", full("muxlock", 1, 1)),
		"advised": advised(document("run", full("muxlock", 1, 1))),
		"compare": document("compare", full("muxlock", 1, 1), full("slow", 1, 0.12), full("slow", 2, 0.1), full("muxlock", 2, 1.1)),
		"closed":  closedDoc,
		"zeros":   document("run", zeros),
		"nothing": document("run"),
		"bare":    {},
		"mixed":   document("compare", good, raw),
		"bad":     document("run", bad),
		"stuck":   document("run", stuck),
	}
}

func TestAPageNeedsNothingFromElsewhereAndHasNoFiguresThatAreNone(t *testing.T) {
	for name, doc := range documents() {
		text := page(t, doc)
		require.NotRegexp(t, `(?i)https?://|\bsrc\s*=|@import|url\(|<link\b|<iframe|fetch\(|XMLHttpRequest|<img\b`, text, name)
		require.NotRegexp(t, `NaN|[^a-zA-Z]\+?Inf\b|%!|{{`, text, name)
	}
}

func TestAPageStaysSmall(t *testing.T) {
	r := full("muxlock", 1, 1)
	for len(r.Series) < 3600 { // an hour
		p := r.Series[len(r.Series)%2]
		p.TS = float64(len(r.Series) + 1)
		r.Series = append(r.Series, p)
	}
	require.Less(t, len(page(t, document("run", r))), 2_000_000)
}

func TestForeignTextIsHarmless(t *testing.T) {
	const evil = `</script><script>alert("x")</script><img src=x onerror=alert(1)>"'`
	r := full(evil, 1, 1)
	r.PerMaster[0].Addr, r.ErrorSamples[0], r.Faults[0].Spec, r.SLO[0].Text = evil, evil, evil, evil
	r.Invalidate(bench.ReasonNothing, evil)
	doc := document("run", r, full("other", 1, 2))
	doc.Config.Masters[0], doc.Config.Server, doc.Env.Host, doc.Config.Faults[0], doc.Tool.Version = evil, evil, evil, evil, evil
	text := page(t, doc,
		view.Block{Heading: evil}, view.Block{Line: evil}, view.Block{Line: evil, Code: true}, view.Block{Bars: []view.Bars{{Title: evil, Rows: []view.Bar{{Label: evil, Text: evil}}}}},
		view.Block{Charts: []view.Chart{{Title: evil, X: view.Axis{Label: evil}, Bands: []bench.Band{{Spec: evil, ToS: 1}},
			Series: []view.Series{{Name: evil, X: []float64{1}, Y: []float64{1}, Dots: true}, {Name: evil, X: []float64{1}, Y: []float64{1}}}}}},
		view.Block{Heading: evil, Inner: view.Blocks{{Table: &view.Table{Heads: []string{evil}, Rows: [][]view.Cell{{{Text: evil, Class: evil}}}}}}})
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, `alert("x")`)
	require.NotContains(t, text, "</script>")
}

// testdata has each page without its style sheet and glossary.
func TestThePageOfADocumentStaysAsItIs(t *testing.T) {
	for _, name := range []string{"advised", "bad", "mixed", "nothing", "stuck", "zeros"} {
		_, body, _ := strings.Cut(page(t, documents()[name]), "<body>\n")
		body, _, _ = strings.Cut(body, `<h2 id="glossary">`)
		golden.Equal(t, name+".html", body)
	}
}

// recorded returns the document of a comparison in an open loop with shared names.
func recorded() result.Document {
	doc, err := result.ReadFile("../result/testdata/result.json")
	if err != nil {
		panic(err)
	}
	return *doc
}

// full returns the first recorded result with more: histograms, two processes, and a master that was lost.
func full(impl string, round int, speed float64) *bench.Result {
	r := recorded().Results[0]
	r.Impl, r.Round, r.ThroughputPerS, r.ErrorSamples = impl, round, r.ThroughputPerS*speed, []string{"127.0.0.1:7002: i/o timeout\nquorum not reached"}
	h := bench.NewHistogram()
	for i := range int64(500) {
		h.Record(int64(float64((i+1)*5000)/speed), 40)
	}
	text, _ := h.MarshalText()
	for timing, s := range r.Latency {
		if s != nil {
			r.Latency[timing] = h.Summary()
			r.Latency[timing].HDR = string(text)
		}
	}
	r.Latency[bench.RemoteHandoverTime] = r.Latency[bench.HandoverTime]
	r.Valid = bench.Valid{OK: true}
	r.Fairness.PerProc = []int64{30_100, 29_600}
	r.PerMaster[1].Lost, r.PerMaster[1].Down, r.Series[1].MasterNs[1] = 80, 0.267, -1
	r.Faults = []bench.Band{{Spec: "stop:2@1s-2s", Kind: "stop", Master: 2, FromS: 1, ToS: 2}}
	r.SLO = []bench.SLO{{Text: "acquire.response.p99<5ms", Unit: bench.UnitNs, Value: 9.1e6, Limit: 5e6}}
	return r
}

// advised adds an advice.
func advised(doc result.Document) result.Document {
	hold := bench.Exp(20 * time.Millisecond)
	doc.Advice = &result.Advice{Ask: sizing.Ask{RTO: 30 * time.Second, Hold: &hold}, Try: "lockbench run --slo '<x>'"}
	doc.Advice.Sizes = sizing.Size(sizing.Measured{
		Masters: 3, Watched: time.Minute, Acquires: sizing.Count([]time.Duration{time.Millisecond}, []int64{500}, 0), Notes: []string{"master a did not answer"},
	}, doc.Advice.Ask)
	return doc
}

// document returns a document of these results.
func document(command string, results ...*bench.Result) result.Document {
	cfg := recorded().Config
	cfg.Command, cfg.Impls, cfg.Reference, cfg.SLO, cfg.Faults = command, nil, "", nil, []string{"stop:2@1s-2s"}
	for _, r := range results {
		if cfg.Rounds = r.Round; !slices.Contains(cfg.Impls, r.Impl) {
			cfg.Impls = append(cfg.Impls, r.Impl)
		}
	}
	if len(cfg.Impls) > 1 {
		cfg.Reference = cfg.Impls[0]
	}
	doc := result.NewDocument(cfg, results)
	doc.Env, doc.Tool = recorded().Env, recorded().Tool
	return doc
}
