package lockotel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"muxlock/engine"
	"muxlock/engine/internal/metrics"
)

// service is the environment variable with the masters of a process that serve runs in.
const service = "MUXLOCK_TRACED_SERVICE"

const requests = 5000 // of a process

// serve is a service whose requests lock a few names in all ways, each in a trace of its own. It checks the spans, and prints
// how many acquires ended how.
func serve(masters []string) {
	exported := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exported))
	tracer := provider.Tracer("service")
	ctx := context.Background()
	locks, err := engine.New(ctx, engine.Config{
		Masters: masters, MastersAreNew: true, MasterTimeout: 50 * time.Millisecond, TTL: 400 * time.Millisecond, MaxTTL: time.Second,
		Tracer: NewTracer(tracer, TraceOptions{}),
	})
	fail := func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
		os.Exit(1)
	}
	if err != nil {
		fail("%v", err)
	}
	fmt.Println("ready")
	var mu sync.Mutex
	want := make(map[string]string) // outcome by trace
	var all sync.WaitGroup
	for worker := range 20 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(worker)))
			for range requests / 20 {
				ctx, span := tracer.Start(ctx, "request")
				name := fmt.Sprint(r.IntN(8))
				wait := engine.WithWait(ctx, time.Duration(r.IntN(300)+1)*time.Millisecond)
				work := time.Duration(r.IntN(10)) * time.Millisecond
				if r.IntN(100) == 0 {
					work = 600 * time.Millisecond // an outage loses such a lock
				}
				hold := func(context.Context) error { time.Sleep(work); return nil }
				var err error
				switch r.IntN(6) {
				case 0, 1:
					err = locks.Do(wait, name, 0, hold)
				case 2:
					err = locks.DoShared(wait, name, 0, hold)
				case 3:
					err = locks.DoPermit(wait, name, 2, 0, hold)
				case 4:
					err = locks.DoAll(wait, []string{name, "all"}, 0, func(ctx context.Context, _ *engine.Set) error { return hold(ctx) })
				case 5:
					var lock *engine.Lock
					if lock, err = locks.TryAcquire(ctx, name, 0); err == nil {
						_ = hold(ctx)
						_ = lock.Release(ctx)
					}
				}
				outcome := "acquired"
				if errors.Is(err, engine.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) {
					outcome = metrics.Result(err)
				}
				span.End()
				mu.Lock()
				want[span.SpanContext().TraceID().String()] = outcome
				mu.Unlock()
			}
		})
	}
	all.Wait()
	_ = locks.Close()
	counts := make(map[string]int)
	for _, span := range exported.GetSpans() {
		for _, event := range span.Events {
			counts[event.Name]++
		}
		if span.Name != "muxlock.acquire" {
			continue
		}
		trace, outcome := span.SpanContext.TraceID().String(), attributes(span.Attributes)["muxlock.outcome"]
		switch expected, ok := want[trace]; {
		case !ok:
			fail("trace %s has no request, or two acquires", trace)
		case outcome != expected:
			fail("the span says %s, the call %s", outcome, expected)
		case !span.Parent.IsValid():
			fail("a span without a parent")
		}
		delete(want, trace)
		counts[outcome]++
	}
	if len(want) > 0 {
		fail("%d requests have no span", len(want))
	}
	fmt.Println(counts)
}
