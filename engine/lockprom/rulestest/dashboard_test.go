package rulestest

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

type panel struct {
	ID      int
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr, LegendFormat string }
}

type board struct {
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []panel
}

func dashboard(t *testing.T) (b board) {
	t.Helper()
	text, err := os.ReadFile("../dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &b))
	require.NotEmpty(t, b.Panels)
	return b
}

var variable = regexp.MustCompile(`\$\w+`)

func TestEveryQueryOfTheDashboardFindsWhatAServiceDid(t *testing.T) {
	masters := redistest.Masters(t, 3)
	b := dashboard(t)
	values := map[string]string{"$__rate_interval": "1m", "$__range": "1h"}
	for _, v := range b.Templating.List {
		values["$"+v.Name] = ".*"
	}
	for name, to := range exports {
		t.Run(name, func(t *testing.T) {
			locks, p := serve(t, masters, to), newServer()
			for range 3 {
				locks.work(t)
				p.scrape(t, locks.registry)
			}
			for _, panel := range b.Panels {
				require.NotEmpty(t, panel.Targets, panel.Title)
				for _, target := range panel.Targets {
					expr := variable.ReplaceAllStringFunc(target.Expr, func(v string) string {
						require.Contains(t, values, v, panel.Title)
						return values[v]
					})
					found := p.query(t, expr, p.now)
					require.NotEmpty(t, found, "%s: %s", panel.Title, expr)
					for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
						require.NotEmpty(t, found[0].Metric.Get(label[1]), "%s: %s", panel.Title, target.LegendFormat)
					}
				}
			}
			for _, v := range b.Templating.List {
				selector, _, _ := strings.Cut(strings.TrimPrefix(v.Definition, "label_values("), ", ")
				if selector != "" {
					require.NotEmpty(t, p.query(t, variable.ReplaceAllString(selector, ".*"), p.now), v.Name)
				}
			}
		})
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	taken := make(map[[2]int]string)
	ids := make(map[int]bool)
	for _, p := range dashboard(t).Panels {
		require.False(t, ids[p.ID], p.Title)
		ids[p.ID] = true
		at := p.GridPos
		require.LessOrEqual(t, at.X+at.W, 24, p.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
