package html_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/html"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/view"
)

var update = flag.Bool("update", false, "write the golden files anew")

func page(t *testing.T, doc result.Document, more ...view.Section) string {
	t.Helper()
	var b bytes.Buffer
	shown := view.NewPage(doc, map[string]string{"slow": "is slow"}, "lockbench run")
	shown.Sections = append(shown.Sections, more...)
	require.NoError(t, html.Write(&b, doc, shown))
	return b.String()
}

// documents are one of each kind.
func documents() map[string]result.Document {
	closed := full("muxlock", 1, 1)
	closed.Latency.Response, closed.Latency.Wait, closed.Latency.Lag = nil, nil, nil
	closed.Latency.Handover, closed.Latency.HandoverRemote = nil, nil
	closedDoc := document("run", closed)
	closedDoc.Config.Rate = 0
	zeros := &bench.Result{Impl: "muxlock", Round: 1, Series: []bench.Point{{}, {TS: 1}}, PerMaster: []bench.Master{{Addr: "a:1"}}}
	none := &bench.Summary{Unit: "ns", P: map[string]int64{}}
	zeros.Latency = bench.Latencies{Service: none, Acquire: none, Release: none, Cycle: none, Handover: none}
	zeros.Invalidate(bench.ReasonNothing)
	return map[string]result.Document{
		"run":     advised(document("run", full("muxlock", 1, 1))),
		"compare": document("compare", full("muxlock", 1, 1), full("slow", 1, 0.12), full("slow", 2, 0.1), full("muxlock", 2, 1.1)),
		"closed":  closedDoc,
		"zeros":   document("run", zeros),
		"nothing": document("run"),
		"bare":    {},
	}
}

// elsewhere is what a page holds from other places: its result, page.css and page.js.
var elsewhere = regexp.MustCompile(`(?s)(<style>|<script[^>]*>).*?(</style>|</script>)`)

func TestPagesAreAsTheyWere(t *testing.T) {
	for _, name := range []string{"run", "compare"} {
		t.Run(name, func(t *testing.T) {
			recorded, golden := filepath.Join("testdata", name+".json"), filepath.Join("testdata", name+".html")
			if *update {
				data, err := json.Marshal(documents()[name])
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(recorded, data, 0o644))
			}
			doc, err := result.ReadFile(recorded)
			require.NoError(t, err)
			got := elsewhere.ReplaceAllString(page(t, *doc), "$1$2")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.True(t, string(want) == got, "the page differs from %s: look at it, then run with -update", golden)
		})
	}
}

func TestAPageNeedsNothingFromElsewhere(t *testing.T) {
	network := regexp.MustCompile(`(?i)https?://|\bsrc\s*=|@import|url\(|<link\b|<iframe|fetch\(|XMLHttpRequest|<img\b`)
	for name, doc := range documents() {
		require.Empty(t, network.FindAllString(page(t, doc), -1), name)
	}
}

func TestAPageStaysSmall(t *testing.T) {
	r := full("muxlock", 1, 1)
	for range 119 { // an hour
		for _, p := range r.Series[:30] {
			p.TS = r.Series[len(r.Series)-1].TS + 1
			r.Series = append(r.Series, p)
		}
	}
	require.Len(t, r.Series, 3600)
	require.Less(t, len(page(t, document("run", r))), 1_000_000)
}

func TestNoPageHasFiguresThatAreNone(t *testing.T) {
	for name, doc := range documents() {
		text := page(t, doc)
		require.NotContains(t, text, "NaN", name)
		require.NotRegexp(t, `[^a-zA-Z]\+?Inf\b`, text, name)
		require.NotContains(t, text, "%!", name)
		require.NotContains(t, text, "ZgotmplZ", name)
	}
}

func TestForeignTextIsHarmless(t *testing.T) {
	const evil = `</script><script>alert("x")</script><img src=x onerror=alert(1)>"'`
	r := full(evil, 1, 1)
	r.PerMaster[0].Addr, r.ErrorSamples[0], r.Faults[0].Spec, r.SLO[0].Text = evil, evil, evil, evil
	r.Invalidate(evil)
	doc := document("run", r, full("other", 1, 2))
	doc.Config.Masters[0], doc.Config.Server, doc.Env.Host, doc.Config.Faults[0], doc.Tool.Version = evil, evil, evil, evil, evil
	text := page(t, doc, view.Section{
		ID: evil, Title: evil, Note: evil, Code: evil,
		Panels: []view.Panel{{Name: evil, Charts: []view.Chart{view.Bars{Title: evil, Rows: []view.Bar{{Label: evil, Text: evil, Value: 1}}}}}},
		Tables: []view.Table{{Caption: evil, Columns: []view.Column{{Name: evil}, {Name: evil}}, Rows: [][]view.Cell{{{Text: evil, Title: evil}, {Text: evil}}}}},
	})
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, `alert("x")`)
	require.Equal(t, 2, strings.Count(text, "</script>"), "the result's and the page's own")

	back, err := result.Read(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, evil, back.Results[0].PerMaster[0].Addr)
}

func TestAPageGivesItsResultBack(t *testing.T) {
	for _, name := range []string{"run", "compare", "closed", "zeros", "nothing"} {
		doc := documents()[name]
		back, err := result.Read(strings.NewReader(page(t, doc)))
		require.NoError(t, err, name)
		want, err := json.Marshal(doc)
		require.NoError(t, err)
		got, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), name)
	}
}

func TestPagesThatHoldNoResultAreTold(t *testing.T) {
	_, err := result.Read(strings.NewReader("<!DOCTYPE html><p>hello"))
	require.ErrorContains(t, err, "no report of lockbench")

	whole := page(t, documents()["closed"])
	_, err = result.Read(strings.NewReader(whole[:strings.Index(whole, `id="lockbench-result">`)+50]))
	require.ErrorContains(t, err, "cut off")
}

func TestSectionsStandOnlyWhereThereIsSomething(t *testing.T) {
	has := func(text, id string) bool { return strings.Contains(text, `<section id="`+id+`"`) }
	all := documents()
	for _, c := range []struct {
		doc     string
		id      string
		present bool
	}{
		{"run", "latency", true}, {"run", "time", true}, {"run", "masters", true}, {"run", "waiting", true}, {"run", "slo", true},
		{"run", "advice", true}, {"compare", "advice", false},
		{"run", "compare", false}, {"run", "holding", false}, {"compare", "compare", true}, {"closed", "waiting", false},
		{"nothing", "latency", false}, {"nothing", "time", false}, {"nothing", "masters", false}, {"nothing", "counts", false},
		{"nothing", "setting", true}, {"zeros", "latency", false}, {"zeros", "glossary", true},
	} {
		require.Equal(t, c.present, has(page(t, all[c.doc]), c.id), "%s in %s", c.id, c.doc)
	}
	require.NotContains(t, page(t, all["nothing"], view.Section{ID: "sweep", Title: "Sweep"}), `id="sweep"`)
	require.Contains(t, page(t, all["nothing"], view.Section{ID: "advice", Title: "Advice", Code: "engine.Config{}"}), `id="advice"`)
}

func TestAdviceStandsWithWhatItRestsOn(t *testing.T) {
	text := page(t, documents()["run"])
	for _, want := range []string{"at most 1e-06 of", ">4.5s<", "&lt;1e-12<", ">0.04<", "clocks of the masters were not watched", "TTL: 4500 * time.Millisecond"} {
		require.Contains(t, text, want)
	}
}

func TestTheHeadSaysWhatIsWrong(t *testing.T) {
	good := page(t, documents()["closed"])
	require.Contains(t, good, "No two holders at once")
	require.Contains(t, good, "2 of 3 objectives missed")
	require.Contains(t, good, "Closed loop")

	r := full("muxlock", 1, 1)
	r.Safety.Overlaps = 3
	r.Invalidate("rate not met")
	bad := page(t, document("run", r))
	require.Contains(t, bad, "Safety violation")
	require.Contains(t, bad, "3 overlaps")
	require.NotContains(t, bad, "No two holders")
	require.Contains(t, bad, "Not valid")
	require.Contains(t, bad, "rate not met")
	require.Contains(t, page(t, documents()["nothing"]), "Nothing was measured")
}
