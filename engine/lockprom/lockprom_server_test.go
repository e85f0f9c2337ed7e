package lockprom

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open connects an engine to masters that it is the first to use. It is closed at cleanup.
func open(t *testing.T, masters []*redisserver.Server, m *Metrics) *engine.Engine {
	t.Helper()
	locks, err := engine.New(t.Context(), engine.Config{
		Masters: redistest.Addrs(masters), Observer: m.Observer(), MastersAreNew: true, MasterTimeout: 5 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locks.Close()) })
	m.Watch(locks)
	return locks
}

// work stands for a service: one lock is taken, wanted once more meanwhile, and released.
func work(t *testing.T, locks *engine.Engine) {
	t.Helper()
	err := locks.Do(t.Context(), "invoice:42", 20*time.Second, func(ctx context.Context) error {
		_, err := locks.TryAcquire(ctx, "invoice:42", 20*time.Second)
		require.ErrorIs(t, err, engine.ErrTaken)
		return nil
	})
	require.NoError(t, err)
}

// scrape returns what Prometheus would get.
func scrape(t *testing.T, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, page.Code, page.Body)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(page.Body)
	require.NoError(t, err)
	return families
}

// series returns the values that are not zero; histograms have their count.
func series(families map[string]*dto.MetricFamily) map[string]float64 {
	all := make(map[string]float64)
	for name, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if value != 0 {
				all[name+"{"+strings.Join(labels, ",")+"}"] = value
			}
		}
	}
	return all
}

func TestAScrapeHasWhatTheEngineDid(t *testing.T) {
	masters := redistest.Masters(t, 3)
	registry, m := prometheus.NewPedanticRegistry(), New(Options{HotNames: 3}) // it refuses what was not described
	registry.MustRegister(m)
	require.Empty(t, scrape(t, registry), "before there is an engine")

	locks := open(t, masters, m)
	work(t, locks)
	require.NoError(t, locks.Close()) // the Observer has been notified of everything then
	families := scrape(t, registry)
	for name, family := range families {
		switch {
		case strings.HasSuffix(name, "_total"):
			require.Equal(t, dto.MetricType_COUNTER, family.GetType(), name)
		case name != "muxlock_wait_seconds" && name != "muxlock_hold_seconds" && name != "muxlock_release_seconds":
			require.Equal(t, dto.MetricType_GAUGE, family.GetType(), name)
		}
	}
	got := series(families)
	for name, value := range map[string]float64{
		"muxlock_acquired_total{kind=exclusive}":                     1,
		"muxlock_failed_attempts_total{kind=exclusive,result=taken}": 1,
		"muxlock_releases_total{result=confirmed}":                   1,
		"muxlock_rounds_total{}":                                     2,
		"muxlock_round_requests_total{}":                             2,
		"muxlock_round_requests_max{}":                               1,
		"muxlock_wait_seconds{result=acquired}":                      1,
		"muxlock_wait_seconds{result=taken}":                         1,
		"muxlock_hold_seconds{}":                                     1,
		"muxlock_release_seconds{}":                                  1,
		"muxlock_hot_acquired{name=invoice:42}":                      1,
		"muxlock_build_info{version=(devel)}":                        1,
	} {
		require.Equal(t, value, got[name], name)
	}
}

// Prometheus takes no other bytes in a label than UTF-8, and no two series with the same.
func TestHotNamesThatAreNoTextAreToldApart(t *testing.T) {
	registry, m := prometheus.NewPedanticRegistry(), New(Options{HotNames: 64})
	registry.MustRegister(m)
	locks := open(t, redistest.Masters(t, 1), m)
	for _, name := range []string{"\xff", "\xfe", `"\xfe"`, "?"} {
		require.NoError(t, locks.Do(t.Context(), name, 20*time.Second, func(context.Context) error { return nil }))
	}
	require.Len(t, scrape(t, registry)["muxlock_hot_acquired"].Metric, 4)
}

func TestEnginesOfOneProcessHaveLabelsOfTheirOwn(t *testing.T) {
	masters := redistest.Masters(t, 1)
	registry := prometheus.NewRegistry()
	for _, name := range []string{"orders", "jobs"} {
		m := New(Options{})
		prometheus.WrapRegistererWith(prometheus.Labels{"locks": name}, registry).MustRegister(m)
		locks := open(t, masters, m)
		if name == "jobs" {
			work(t, locks)
		}
	}
	families := scrape(t, registry)
	require.Len(t, families["muxlock_acquired_total"].Metric, 2*3, "for each of two engines each kind")
	require.EqualValues(t, 1, series(families)["muxlock_acquired_total{kind=exclusive,locks=jobs}"])

	require.NoError(t, prometheus.NewRegistry().Register(New(Options{})))
	plain := prometheus.NewRegistry()
	plain.MustRegister(New(Options{}))
	require.ErrorAs(t, plain.Register(New(Options{})), new(prometheus.AlreadyRegisteredError), "without labels")
}

func TestClassIsALabelOfTheHistograms(t *testing.T) {
	masters := redistest.Masters(t, 1)
	registry := prometheus.NewRegistry()
	m := New(Options{Class: func(name string) string { class, _, _ := strings.Cut(name, ":"); return class }})
	registry.MustRegister(m)
	locks := open(t, masters, m)
	work(t, locks)
	require.NoError(t, locks.Close())
	families := scrape(t, registry)
	got := series(families)
	require.EqualValues(t, 1, got["muxlock_wait_seconds{class=invoice,result=acquired}"])
	require.EqualValues(t, 1, got["muxlock_wait_seconds{class=invoice,result=taken}"])
	require.EqualValues(t, 1, got["muxlock_hold_seconds{class=invoice}"])
	require.Contains(t, got, "muxlock_acquired_total{kind=exclusive}")
}
