package lockotel

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

// dropped takes spans as an exporter does, and keeps none.
type dropped struct{}

func (dropped) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (dropped) Shutdown(context.Context) error                        { return nil }

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTracedCycle has 64 goroutines acquire and release names of their own on five masters, each cycle under a request's
// span. It compares the CPU of this process with that of requests whose locks are not traced:
//
//	cd engine/lockotel && go test -run '^$' -bench TracedCycle -count 8 .
func BenchmarkTracedCycle(b *testing.B) {
	masters := redistest.Masters(b, 5)
	for _, c := range []struct {
		name    string
		locks   bool
		sampled float64
	}{{"locks=no/sampled=1%", false, 0.01}, {"locks=yes/sampled=1%", true, 0.01}, {"locks=no/sampled=100%", false, 1}, {"locks=yes/sampled=100%", true, 1}} {
		b.Run(c.name, func(b *testing.B) {
			provider := sdk.NewTracerProvider(sdk.WithBatcher(dropped{}), sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.sampled))))
			defer func() { _ = provider.Shutdown(context.Background()) }()
			tracer, cfg := provider.Tracer("bench"), engine.Config{Masters: redistest.Addrs(masters), MastersAreNew: true}
			if c.locks {
				cfg.Tracer = NewTracer(tracer, TraceOptions{})
			}
			locks, err := engine.New(b.Context(), cfg)
			require.NoError(b, err)
			defer locks.Close()
			var left atomic.Int64
			left.Store(int64(b.N))
			begin := cpu(b)
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					name := fmt.Sprint(b.Name(), i)
					for left.Add(-1) >= 0 {
						ctx, span := tracer.Start(context.Background(), "request")
						lock, err := locks.Acquire(ctx, name, 0)
						if err == nil {
							err = lock.Release(ctx)
						}
						if span.End(); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64((cpu(b)-begin).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}
