// Package lockotel exports what an engine does to OpenTelemetry. It is a module of its own: require and replace it as
// engine/README.md says of muxlock under Install. A service needs:
//
//	metrics, err := lockotel.New(otel.Meter("muxlock"), lockotel.Options{}) // before the engine: it needs the Observer
//	if err != nil {
//		return err
//	}
//	locks, err := engine.New(ctx, engine.Config{Masters: masters, Observer: metrics.Observer()})
//	if err != nil {
//		return err
//	}
//	defer locks.Close()
//	if _, err := metrics.Watch(locks); err != nil {
//		return err
//	}
//
// Each field of engine.Stats is an observable counter, up-down counter or gauge. Fields of a master have
// its address as the attribute master. There are histograms of three times: of the wait for a lock
// (muxlock.wait; its attribute result is how the wait ended), of the hold (muxlock.hold), and of a release
// that asked the masters (muxlock.release). muxlock.acquired, muxlock.held, muxlock.lost and
// muxlock.failed_attempts have the attribute kind, which
// is exclusive, shared (of readers) or permit: their sum is all locks. A lock of a Set or of AcquireMany is
// exclusive. muxlock.build_info has the attribute version. The names of locks are no attribute: there may
// be as many as invoices, and they may reveal whose they are. Look for a single lock in the log. For a few
// classes of names there is Options.Class. A view can change the histograms' buckets.
//
// # Traces
//
// NewTracer puts spans into the traces of callers: the wait of each acquire, each hold, each release that asks the masters.
//
//	locks, err := engine.New(ctx, engine.Config{Masters: masters, Tracer: lockotel.NewTracer(otel.Tracer("muxlock"), lockotel.TraceOptions{})})
//
// # Several engines
//
// Several engines in one process need Options.Attributes, such as a name for each.
//
// Through OpenTelemetry's exporter for Prometheus the metrics have the names of package lockprom. So its
// dashboard and alerts hold for both.
package lockotel
