package rulestest

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/groups"
	"muxlock/engine/lockprom"
	"muxlock/internal/testing/await"
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

// Each group has metrics of its own, and so has the Engine of all groups (package groups, Watching it).
func TestDashboardAndAlertsCountMastersOfGroupsOnce(t *testing.T) {
	servers := redistest.Masters(t, 6)
	addrs := redistest.Addrs(servers)
	e, err := groups.New(t.Context(), groups.Config{
		Config: engine.Config{MastersAreNew: true, MasterTimeout: 5 * time.Second},
		Groups: map[string][]string{"red": addrs[:3], "blue": addrs[3:]},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	registry, p := prometheus.NewRegistry(), newServer()
	watch := func(group string, locks *engine.Engine) {
		m := lockprom.New(lockprom.Options{})
		m.Watch(locks)
		prometheus.WrapRegistererWith(prometheus.Labels{"group": group}, registry).MustRegister(m)
	}
	watch("", e.Engine)
	for id, group := range e.Groups() {
		watch(id, group)
	}
	shows := func(want float64, expr string) {
		t.Helper()
		found := p.query(t, variable.ReplaceAllString(expr, ".*"), p.now)
		require.NotEmpty(t, found, expr)
		for _, f := range found {
			require.EqualValues(t, want, f.F, "%s of %s", expr, f.Metric)
		}
	}
	require.NoError(t, e.Do(t.Context(), "invoice:42", 0, func(context.Context) error { return nil }))
	p.scrape(t, registry)
	for _, panel := range dashboard(t).Panels {
		for _, target := range panel.Targets {
			switch panel.Title {
			case "Masters that vote":
				shows(3, target.Expr)
			case "Versions":
				shows(1, target.Expr)
			}
		}
	}
	shows(1, "sum by (master) (muxlock_master_up)")
	shows(float64(e.Stats().Rounds), "sum(muxlock_rounds_total)")
	shows(1, "sum(muxlock_acquired_total)")
	require.NoError(t, servers[0].Kill())
	await.True(t, func() bool { return !e.Groups()["red"].Stats().Masters[0].Up })
	for range 10 {
		p.scrape(t, registry)
	}
	require.Equal(t, []string{"MuxlockNoSpareMaster"}, p.firing(t), "of its group alone")
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
