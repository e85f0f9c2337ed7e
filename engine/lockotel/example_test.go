package lockotel_test

import (
	"context"
	"log"

	sdk "go.opentelemetry.io/otel/sdk/metric"

	"muxlock/engine"
	"muxlock/engine/lockotel"
)

func Example() {
	ctx := context.Background()
	var exporter sdk.Exporter // OTLP, for example
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(exporter)))
	defer provider.Shutdown(ctx)

	metrics, err := lockotel.New(provider.Meter("muxlock"), lockotel.Options{})
	if err != nil {
		log.Fatal(err)
	}
	locks, err := engine.New(ctx, engine.Config{
		Masters:  []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
		Observer: metrics.Observer(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	if _, err := metrics.Watch(locks); err != nil {
		log.Fatal(err)
	}
}
