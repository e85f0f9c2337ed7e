// Package rulestest evaluates the dashboard and the alerts of package lockprom on scrapes of real
// engines, with Prometheus' own query engine. It is a module of its own: that reaches no one's go.mod.
package rulestest

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/engine/lockotel"
	"muxlock/engine/lockprom"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An export is a way from an engine to Prometheus: the Observer for the engine's Config, and a function to
// call with the engine.
type export func(*testing.T, *prometheus.Registry) (*engine.Observer, func(*engine.Engine))

var exports = map[string]export{
	"lockprom": func(t *testing.T, registry *prometheus.Registry) (*engine.Observer, func(*engine.Engine)) {
		m := lockprom.New(lockprom.Options{})
		registry.MustRegister(m)
		return m.Observer(), m.Watch
	},
	"lockotel": func(t *testing.T, registry *prometheus.Registry) (*engine.Observer, func(*engine.Engine)) {
		reader, err := exporter.New(exporter.WithRegisterer(registry))
		require.NoError(t, err)
		provider := sdk.NewMeterProvider(sdk.WithReader(reader))
		t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
		m, err := lockotel.New(provider.Meter("muxlock"), lockotel.Options{})
		require.NoError(t, err)
		return m.Observer(), func(locks *engine.Engine) {
			_, err := m.Watch(locks)
			require.NoError(t, err)
		}
	},
}

// A service locks, and shows a registry to Prometheus.
type service struct {
	*engine.Engine
	registry *prometheus.Registry
	released chan struct{} // one for each release that the Observer was notified of
}

// serve starts a service on masters that nobody has used. It is closed at cleanup.
func serve(t *testing.T, masters []*redisserver.Server, to export, changes ...func(*engine.Config)) *service {
	t.Helper()
	s := &service{registry: prometheus.NewRegistry(), released: make(chan struct{}, 100)}
	exported, watch := to(t, s.registry)
	observer := *exported
	observer.Released = func(name string, held time.Duration, handedOver bool, err error) {
		exported.Released(name, held, handedOver, err)
		s.released <- struct{}{}
	}
	cfg := engine.Config{Masters: redistest.Addrs(masters), Observer: &observer, MastersAreNew: true, MasterTimeout: 5 * time.Second}
	for _, change := range changes {
		change(&cfg)
	}
	locks, err := engine.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locks.Close()) })
	watch(locks)
	s.Engine = locks
	return s
}

// work takes a lock, wants it once more meanwhile, and releases it. The Observer has been notified
// of it all when it returns.
func (s *service) work(t *testing.T) {
	t.Helper()
	err := s.Do(t.Context(), "invoice:42", 0, func(ctx context.Context) error {
		_, err := s.TryAcquire(ctx, "invoice:42", 0)
		require.ErrorIs(t, err, engine.ErrTaken)
		return nil
	})
	require.NoError(t, err)
	<-s.released
}

// votes waits until so many masters have a vote.
func (s *service) votes(t *testing.T, want int) {
	t.Helper()
	await.True(t, func() bool {
		n := 0
		for _, m := range s.Stats().Masters {
			if m.Up && m.Cause == nil {
				n++
			}
		}
		return n == want
	})
}
