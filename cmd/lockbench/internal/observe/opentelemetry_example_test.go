package observe_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"muxlock/engine"
)

// Durations come from the Observer, everything else from Stats whenever the reader collects.
//
// No attribute is the name of a lock: each value makes a time series of its own, and names
// are as many as there are invoices, say, and may reveal whose they are.
func Example_openTelemetry() {
	ctx := context.Background()
	addresses, stop := threeMasters()
	defer stop()

	reader := sdk.NewManualReader() // sdk.NewPeriodicReader(exporter) in a service
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	defer provider.Shutdown(ctx)
	meter := provider.Meter("muxlock")
	observer, err := otelObserver(meter)
	if err != nil {
		log.Fatal(err)
	}
	notified := untilReleased(observer) // for the example's output only
	locks, err := engine.New(ctx, engine.Config{
		Masters:  addresses,
		Observer: observer,
		// As it suits these masters. Leave both out.
		MastersAreNew: true, MasterTimeout: 5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	watching, err := otelStats(meter, locks)
	if err != nil {
		log.Fatal(err)
	}
	defer watching.Unregister()

	work(ctx, locks)
	notified()

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		log.Fatal(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			fmt.Println(m.Name, "of", data.DataPoints[0].Count)
		case metricdata.Sum[int64]:
			show(m, data.DataPoints, addresses)
		case metricdata.Gauge[int64]:
			show(m, data.DataPoints, addresses)
		}
	}
	// Unordered output:
	// muxlock.wait of 1
	// muxlock.hold of 1
	// muxlock.acquired{} 1
	// muxlock.failed_attempts{result=taken} 1
	// muxlock.releases{result=confirmed} 1
	// muxlock.rounds{} 2
	// muxlock.round_requests{} 2
	// muxlock.round_requests_max{} 1
	// muxlock.master.up{master=m0} 1
	// muxlock.master.up{master=m1} 1
	// muxlock.master.up{master=m2} 1
	// muxlock.master.votes{master=m0} 1
	// muxlock.master.votes{master=m1} 1
	// muxlock.master.votes{master=m2} 1
}

// show prints what is not zero.
func show(m metricdata.Metrics, points []metricdata.DataPoint[int64], addresses []string) {
	for _, p := range points {
		if p.Value == 0 || m.Name == "muxlock.master.backlog" { // that one depends on the moment
			continue
		}
		attributes := p.Attributes.Encoded(attribute.DefaultEncoder())
		fmt.Printf("%s{%s} %d\n", m.Name, withoutPorts(attributes, addresses), p.Value)
	}
}

// otelObserver makes the histograms that need single events.
func otelObserver(meter metric.Meter) (*engine.Observer, error) {
	buckets := metric.WithExplicitBucketBoundaries(.0001, .0004, .0016, .0064, .0256, .1, .4, 1.6, 6.4, 25)
	wait, err1 := meter.Float64Histogram("muxlock.wait", metric.WithUnit("s"),
		metric.WithDescription("Time that callers waited for locks that they got."), buckets)
	hold, err2 := meter.Float64Histogram("muxlock.hold", metric.WithUnit("s"),
		metric.WithDescription("Time from getting a lock to releasing it."), buckets)
	ctx := context.Background() // the Observer is not given the caller's
	return &engine.Observer{
		Acquired: func(_ string, d time.Duration, _ int) { wait.Record(ctx, d.Seconds()) },
		Released: func(_ string, d time.Duration, _ bool, _ error) { hold.Record(ctx, d.Seconds()) },
	}, errors.Join(err1, err2)
}

// otelStats makes the counters and gauges, and the callback that reads Stats once for all.
func otelStats(meter metric.Meter, locks *engine.Engine) (metric.Registration, error) {
	var errs error
	var all []metric.Observable
	counter := func(name, unit, help string) metric.Int64Observable {
		c, err := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
		errs, all = errors.Join(errs, err), append(all, c)
		return c
	}
	gauge := func(name, unit, help string) metric.Int64Observable {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(help))
		errs, all = errors.Join(errs, err), append(all, g)
		return g
	}
	acquired := counter("muxlock.acquired", "{lock}", "Locks given out.")
	lost := counter("muxlock.lost", "{lock}", "Locks lost while they were held. Alert on it.")
	failed := counter("muxlock.failed_attempts", "{attempt}", "Attempts that failed. Alert on no quorum.")
	retries := counter("muxlock.retries", "{attempt}", "Times that an Acquire asked the masters again.")
	dropped := counter("muxlock.events_dropped", "{event}", "Events that the Observer and the Logger missed: they were too slow.")
	releases := counter("muxlock.releases", "{lock}", "Releases.")
	renewals := counter("muxlock.renewals", "{lock}", "Renewals in the background.")
	waiting := gauge("muxlock.waiting", "{goroutine}", "In line behind others of this process.")
	rounds := counter("muxlock.rounds", "{round}", "Batches sent.")
	requests := counter("muxlock.round_requests", "{request}", "Requests in them.")
	largest := gauge("muxlock.round_requests_max", "{request}", "Requests in the largest of them.")
	queued := gauge("muxlock.queued", "{request}", "Waiting for a round.")
	up := gauge("muxlock.master.up", "1", "1: it is sent rounds.")
	votes := gauge("muxlock.master.votes", "1", "1: it may grant locks. Alert when the sum is below quorum + 1.")
	setAside := counter("muxlock.master.set_aside", "{time}", "Times that it was set aside.")
	backlog := gauge("muxlock.master.backlog", "{request}", "Waiting for it alone.")
	pending := gauge("muxlock.master.pending_releases", "{release}", "Releases that it could not be sent or has not answered.")
	tracking := gauge("muxlock.master.tracking", "1", "1: it notifies of released names.")
	if errs != nil {
		return nil, errs
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := locks.Stats()
		count := func(c metric.Int64Observable, n uint64, attributes ...attribute.KeyValue) {
			o.ObserveInt64(c, int64(n), metric.WithAttributes(attributes...))
		}
		result := attribute.Key("result").String
		count(acquired, s.Acquired)
		count(lost, s.Lost)
		count(failed, s.NoQuorum, result("no quorum"))
		count(failed, s.Taken, result("taken"))
		count(failed, s.SplitVotes, result("split vote"))
		count(failed, s.Expired, result("too late"))
		count(failed, s.Denied, result("denied"))
		count(retries, s.Retries)
		count(dropped, s.EventsDropped)
		count(releases, s.Released, result("confirmed"))
		count(releases, s.HandedOver, result("handed over"))
		count(releases, s.NotHeld, result("not held"))
		count(releases, s.ReleasesUnconfirmed, result("not confirmed"))
		count(renewals, s.Renewed, result("confirmed"))
		count(renewals, s.RenewalsFailed, result("not confirmed"))
		o.ObserveInt64(waiting, int64(s.Waiting))
		count(rounds, s.Rounds)
		count(requests, s.Requests)
		o.ObserveInt64(largest, int64(s.LargestRound))
		o.ObserveInt64(queued, int64(s.Queued))
		for _, m := range s.Masters {
			master := metric.WithAttributes(attribute.String("master", m.Address))
			o.ObserveInt64(up, int64(oneIf(m.Up)), master)
			o.ObserveInt64(votes, int64(oneIf(m.Up && m.VotesFrom.IsZero())), master)
			o.ObserveInt64(setAside, int64(m.SetAside), master)
			o.ObserveInt64(backlog, int64(m.Backlog), master)
			o.ObserveInt64(pending, int64(m.PendingReleases), master)
			o.ObserveInt64(tracking, int64(oneIf(m.Tracking)), master)
		}
		return nil
	}, all...)
}
