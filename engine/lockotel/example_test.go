package lockotel_test

import (
	"context"
	"fmt"
	"log"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"muxlock/engine"
	"muxlock/engine/lockotel"
	"muxlock/internal/redisfake"
)

func Example() {
	ctx, cfg := context.Background(), onMasterOfThisProcess()                     // yours has Masters
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewInMemoryExporter() // yours export by OTLP, say
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer meters.Shutdown(ctx)
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	defer traces.Shutdown(ctx)

	metrics, err := lockotel.New(meters.Meter("muxlock"), lockotel.Options{}) // before the engine: it needs the Observer
	if err != nil {
		log.Fatal(err)
	}
	cfg.Observer = metrics.Observer()
	cfg.Tracer = lockotel.NewTracer(traces.Tracer("muxlock"), lockotel.TraceOptions{})
	locks, err := engine.New(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	if _, err := metrics.Watch(locks); err != nil {
		log.Fatal(err)
	}

	err = locks.Do(ctx, "invoice/42", 10*time.Second, func(ctx context.Context) error { return ctx.Err() })
	if err != nil {
		log.Fatal(err)
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	var exported metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &exported); err != nil {
		log.Fatal(err)
	}
	for _, m := range exported.ScopeMetrics[0].Metrics {
		if s, is := m.Data.(metricdata.Sum[float64]); is && m.Name == "muxlock.acquired" {
			all := 0.0 // kinds of locks
			for _, p := range s.DataPoints {
				all += p.Value
			}
			fmt.Println(m.Name, all)
		}
	}
	// Output:
	// muxlock.acquire
	// muxlock.release
	// muxlock.hold
	// muxlock.acquired 1
}

// onMasterOfThisProcess is for examples that run without servers. Package redisfake cannot be imported from other modules.
func onMasterOfThisProcess() (cfg engine.Config) {
	cfg.Masters, cfg.MasterTimeout = []string{"10.0.0.1:6379"}, 5*time.Second
	cfg.Client.DialCtxFn = redisfake.New().Dial
	return cfg
}
