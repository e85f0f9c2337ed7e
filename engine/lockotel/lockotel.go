package lockotel

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"muxlock/engine"
	"muxlock/engine/internal/metrics"
)

// Options of New; all may be left out.
type Options struct {
	// Attributes are on every point. They tell several engines of one process apart.
	Attributes []attribute.KeyValue
	// Class maps the name of a lock to the attribute class of the histograms, "invoice:42" to "invoice" for
	// example. Default nil: no such attribute. Each value makes time series of its own. Never return what
	// grows with the data, such as the name itself, or what not all readers of metrics may read. As a
	// safeguard, all values beyond the first 100 become "other". Class is called as an Observer's functions
	// are.
	Class func(name string) string
	// HotNames is how many hot names are exported, of those waited for longest and of those acquired most often, at most 64 each
	// (Engine.HotNames). Default 0: none. Each name that was hot once is a time series.
	HotNames int
}

// Metrics are the instruments of one engine. Its Observer fills the histograms. All else is read from
// Engine.Stats whenever the reader collects. All methods are safe for concurrent use.
type Metrics struct {
	meter      metric.Meter
	attributes []attribute.KeyValue
	byName     map[string]metric.Float64Observable
	observer   *engine.Observer
	hot        int
}

// New makes the instruments; the Observer must be in the Config of the engine. Errors are the
// meter's.
func New(meter metric.Meter, opts Options) (*Metrics, error) {
	m := &Metrics{meter: meter, hot: opts.HotNames, attributes: slices.Clone(opts.Attributes), byName: make(map[string]metric.Float64Observable)}
	var errs error
	histogram := func(i metrics.Instrument) metric.Float64Histogram {
		h, err := meter.Float64Histogram(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help),
			metric.WithExplicitBucketBoundaries(metrics.Buckets...))
		errs = errors.Join(errs, err)
		return h
	}
	wait, hold, release := histogram(metrics.Wait), histogram(metrics.Hold), histogram(metrics.Release)
	metrics.Each(metrics.StatsOf(nil, m.hot), func(i metrics.Instrument, _ float64, _ ...string) {
		if m.byName[i.Name] != nil {
			return
		}
		o, err := observable(meter, i)
		m.byName[i.Name], errs = o, errors.Join(errs, err)
	})
	if errs != nil {
		return nil, errs
	}
	ctx := context.Background() // the Observer is not given the caller's
	m.observer = metrics.Observer(opts.Class,
		func(s float64, result string, class ...string) {
			wait.Record(ctx, s, m.with(class, attribute.String("result", result)))
		},
		func(s float64, class ...string) { hold.Record(ctx, s, m.with(class)) },
		func(s float64, class ...string) { release.Record(ctx, s, m.with(class)) })
	return m, nil
}

// Observer returns the Config.Observer that fills the histograms; without it they are empty. It sets
// Acquired, NotAcquired, Released and ReleaseTook. A service may set the other functions. It may replace
// these four, and call them from its own. It must not change the Observer after engine.New.
func (m *Metrics) Observer() *engine.Observer { return m.observer }

// Watch makes the reader collect the Stats of locks, until the returned registration ends or the provider is
// shut down. Errors are the meter's.
func (m *Metrics) Watch(locks *engine.Engine) (metric.Registration, error) {
	all := make([]metric.Observable, 0, len(m.byName))
	for _, o := range m.byName {
		all = append(all, o)
	}
	return m.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		metrics.Each(metrics.StatsOf(locks, m.hot), func(i metrics.Instrument, value float64, values ...string) {
			var labels []attribute.KeyValue
			for k, label := range i.Labels {
				labels = append(labels, attribute.String(label, values[k]))
			}
			to.ObserveFloat64(m.byName[i.Name], value, m.with(nil, labels...))
		})
		return nil
	}, all...)
}

// with returns the attributes of a point.
func (m *Metrics) with(class []string, others ...attribute.KeyValue) metric.MeasurementOption {
	for _, c := range class {
		others = append(others, attribute.String("class", c))
	}
	return metric.WithAttributes(append(others, m.attributes...)...)
}

func observable(meter metric.Meter, i metrics.Instrument) (metric.Float64Observable, error) {
	unit, help := metric.WithUnit(i.Unit), metric.WithDescription(i.Help)
	switch i.Kind {
	case metrics.Counter:
		return meter.Float64ObservableCounter(i.Name, unit, help)
	case metrics.UpDown:
		return meter.Float64ObservableUpDownCounter(i.Name, unit, help)
	}
	return meter.Float64ObservableGauge(i.Name, unit, help)
}
