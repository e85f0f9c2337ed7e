// Package lockprom exports what an engine does to Prometheus. It is a module of its own: require and replace it as
// engine/README.md says of muxlock under Install. A service needs:
//
//	metrics := lockprom.New(lockprom.Options{}) // before the engine: it needs the Observer
//	locks, err := engine.New(ctx, engine.Config{Masters: masters, Observer: metrics.Observer()})
//	if err != nil {
//		return err
//	}
//	defer locks.Close()
//	metrics.Watch(locks)
//	prometheus.MustRegister(metrics)
//	http.Handle("/metrics", promhttp.Handler())
//
// Each field of engine.Stats is a counter or a gauge. Fields of a master have its address as the label
// master. There are histograms of three times: of the wait for a lock (muxlock_wait_seconds; its label result
// is how the wait ended), of the hold (muxlock_hold_seconds), and of a release that asked the masters
// (muxlock_release_seconds). muxlock_acquired_total, muxlock_held, muxlock_lost_total and
// muxlock_failed_attempts_total have the label kind, which is exclusive, shared (of readers) or permit: their sum is all
// locks. A lock of a Set or of AcquireMany is exclusive. Losses have the label cause: expired, not_held, or closed, of which
// Stats.Lost has the first two. muxlock_build_info has the label version. The names of locks are no label: there may be as
// many as invoices, and they may reveal whose they are. Look for a single lock in the log. For a few classes
// of names there is Options.Class.
//
// # Several engines
//
// Metrics are of one engine. Give each a label of its own; without it the second is refused:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"locks": "orders"}, prometheus.DefaultRegisterer).MustRegister(metrics)
//
// # Dashboard and alerts
//
// dashboard.json, in this directory, is for Grafana: import it and choose the data source.
// alerts.yaml is for Prometheus (rule_files). It has an alert for each of five facts: a lock was lost while
// it was held, a master that votes lacks kept locks for a minute, attempts found no quorum for minutes, so
// few masters vote that the next failure stops all locks, and a master does not vote until somebody acts. Dashboard and alerts hold for any number of engines
// and masters. They also hold for package lockotel
// through OpenTelemetry's exporter for Prometheus, which makes the same names. Module rulestest evaluates all
// their queries on scrapes of real engines.
//
// # What it costs
//
// Stats are read once per scrape. A goroutine of the engine notifies the Observer of each acquire and
// release. No lock waits for it; muxlock_events_dropped_total counts the events that it misses. Without the
// Observer in the Config there are no histograms; all else is there.
package lockprom
