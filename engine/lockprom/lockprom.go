package lockprom

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"muxlock/engine"
	"muxlock/engine/internal/metrics"
)

// Options of New; all may be left out.
type Options struct {
	// Class maps the name of a lock to the label class of the histograms, "invoice:42" to "invoice" for
	// example. Default nil: no such label. Each value is two dozen time series and more, which live as long
	// as the process, here and in Prometheus. Never return what grows with the data, such as the name itself,
	// or what not all readers of metrics may read. As a safeguard, all values beyond the first 100 become
	// "other". Class is called as an Observer's functions are.
	Class func(name string) string
	// HotNames is how many hot names are exported, of those waited for longest and of those acquired most often, at most 64 each
	// (Engine.HotNames). Default 0: none. Each name that was hot once is a time series.
	HotNames int
}

// Metrics is a prometheus.Collector for one engine. Its Observer fills the histograms. All else is read from
// Engine.Stats at each scrape. All methods are safe for concurrent use.
type Metrics struct {
	wait, hold, release *prometheus.HistogramVec
	observer            *engine.Observer
	hot                 int
	locks               atomic.Pointer[engine.Engine] // nil until Watch
}

// New returns metrics without an engine: its Observer must be in the engine's Config.
func New(opts Options) *Metrics {
	var class []string
	if opts.Class != nil {
		class = []string{"class"}
	}
	m := &Metrics{hot: opts.HotNames, wait: histogram(metrics.Wait, append([]string{"result"}, class...)), hold: histogram(metrics.Hold, class), release: histogram(metrics.Release, class)}
	m.observer = metrics.Observer(opts.Class,
		func(s float64, result string, class ...string) {
			m.wait.WithLabelValues(append([]string{result}, class...)...).Observe(s)
		},
		func(s float64, class ...string) { m.hold.WithLabelValues(class...).Observe(s) },
		func(s float64, class ...string) { m.release.WithLabelValues(class...).Observe(s) })
	return m
}

// Observer returns the Config.Observer that fills the histograms; without it they are empty. It sets
// Acquired, NotAcquired, Released and ReleaseTook. A service may set the other functions. It may replace
// these four, and call them from its own. It must not change the Observer after engine.New.
func (m *Metrics) Observer() *engine.Observer { return m.observer }

// Watch makes locks the engine whose Stats are collected. Before that there are none.
func (m *Metrics) Watch(locks *engine.Engine) { m.locks.Store(locks) }

// Describe is for prometheus.Registerer.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	m.wait.Describe(descs)
	m.hold.Describe(descs)
	m.release.Describe(descs)
	metrics.Each(metrics.StatsOf(nil, m.hot), func(i metrics.Instrument, _ float64, _ ...string) { descs <- desc(i) })
}

// Collect is for prometheus.Registerer. It reads Stats once.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.wait.Collect(to)
	m.hold.Collect(to)
	m.release.Collect(to)
	locks := m.locks.Load()
	if locks == nil {
		return
	}
	metrics.Each(metrics.StatsOf(locks, m.hot), func(i metrics.Instrument, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if i.Kind == metrics.Counter {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(desc(i), kind, value, labels...)
	})
}

func desc(i metrics.Instrument) *prometheus.Desc {
	return prometheus.NewDesc(i.Prometheus(), i.Help, i.Labels, nil)
}

func histogram(i metrics.Instrument, labels []string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: i.Prometheus(), Help: i.Help, Buckets: metrics.Buckets}, labels)
}
