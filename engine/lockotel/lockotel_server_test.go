package lockotel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open connects an engine to masters that it is the first to use. It is closed at cleanup.
func open(t *testing.T, masters []*redisserver.Server, provider *sdk.MeterProvider, opts Options) *engine.Engine {
	t.Helper()
	m, err := New(provider.Meter("muxlock"), opts)
	require.NoError(t, err)
	locks, err := engine.New(t.Context(), engine.Config{
		Masters: redistest.Addrs(masters), Observer: m.Observer(), MastersAreNew: true, MasterTimeout: 5 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locks.Close()) })
	watched, err := m.Watch(locks)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, watched.Unregister()) })
	return locks
}

// work stands for a service: one lock is taken, wanted once more meanwhile, and released. The
// Observer has been notified of it all when it returns.
func work(t *testing.T, locks *engine.Engine) {
	t.Helper()
	err := locks.Do(t.Context(), "invoice:42", 20*time.Second, func(ctx context.Context) error {
		_, err := locks.TryAcquire(ctx, "invoice:42", 20*time.Second)
		require.ErrorIs(t, err, engine.ErrTaken)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, locks.Close())
}

// collect returns the values that are not zero; histograms have their count.
func collect(t *testing.T, reader sdk.Reader) map[string]float64 {
	t.Helper()
	var collected metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &collected))
	all := make(map[string]float64)
	add := func(m metricdata.Metrics, attributes attribute.Set, value float64) {
		if value != 0 {
			all[fmt.Sprintf("%s{%s}", m.Name, attributes.Encoded(attribute.DefaultEncoder()))] = value
		}
	}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m, p.Attributes, float64(p.Count))
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					add(m, p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add(m, p.Attributes, p.Value)
				}
			default:
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return all
}

func provide(t *testing.T) (*sdk.MeterProvider, sdk.Reader) {
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return provider, reader
}

func TestACollectionHasWhatTheEngineDid(t *testing.T) {
	masters := redistest.Masters(t, 3)
	provider, reader := provide(t)
	locks := open(t, masters, provider, Options{HotNames: 3})
	for _, master := range masters {
		require.EqualValues(t, 1, collect(t, reader)["muxlock.master.votes{master="+master.Addr()+"}"])
	}
	work(t, locks)
	got := collect(t, reader)
	for name, value := range map[string]float64{
		"muxlock.acquired{kind=exclusive}":                     1,
		"muxlock.failed_attempts{kind=exclusive,result=taken}": 1,
		"muxlock.releases{result=confirmed}":                   1,
		"muxlock.rounds{}":                                     2,
		"muxlock.round_requests{}":                             2,
		"muxlock.round_requests_max{}":                         1,
		"muxlock.wait{result=acquired}":                        1,
		"muxlock.wait{result=taken}":                           1,
		"muxlock.hot.acquired{name=invoice:42}":                1,
		"muxlock.hold{}":                                       1,
	} {
		require.Equal(t, value, got[name], name)
	}
}

func TestEnginesOfOneProcessHaveAttributesOfTheirOwn(t *testing.T) {
	masters := redistest.Masters(t, 1)
	provider, reader := provide(t)
	open(t, masters, provider, Options{Attributes: []attribute.KeyValue{attribute.String("locks", "orders")}})
	work(t, open(t, masters, provider, Options{
		Attributes: []attribute.KeyValue{attribute.String("locks", "jobs")},
		Class:      func(name string) string { class, _, _ := strings.Cut(name, ":"); return class },
	}))
	got := collect(t, reader)
	require.EqualValues(t, 1, got["muxlock.acquired{kind=exclusive,locks=jobs}"])
	require.EqualValues(t, 1, got["muxlock.wait{class=invoice,locks=jobs,result=acquired}"])
	require.EqualValues(t, 1, got["muxlock.hold{class=invoice,locks=jobs}"])
	require.EqualValues(t, 1, got["muxlock.master.up{locks=orders,master="+masters[0].Addr()+"}"])
	require.NotContains(t, got, "muxlock.acquired{kind=exclusive,locks=orders}")
}

func TestInstrumentsAreOfTheirKind(t *testing.T) {
	provider, reader := provide(t)
	open(t, redistest.Masters(t, 1), provider, Options{})
	var collected metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &collected))
	kinds := make(map[string]string)
	for _, m := range collected.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[float64]:
			kinds[m.Name] = fmt.Sprintf("%s: a sum, only grows: %v", m.Unit, data.IsMonotonic)
		case metricdata.Gauge[float64]:
			kinds[m.Name] = m.Unit + ": a gauge"
		}
	}
	require.Equal(t, "{lock}: a sum, only grows: true", kinds["muxlock.acquired"])
	require.Equal(t, "{goroutine}: a sum, only grows: false", kinds["muxlock.waiting"])
	require.Equal(t, "{master}: a sum, only grows: false", kinds["muxlock.master.votes"])
	require.Equal(t, "s: a gauge", kinds["muxlock.master.round_trip"])
}
