package observe_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"muxlock/engine"
)

// Durations and reasons come from the Observer, everything else from Stats at each scrape,
// which costs the locks nothing in between.
//
// No label is the name of a lock: each value of a label is a time series that lives as long
// as the process, and names are as many as there are invoices, say, and may reveal whose they
// are. Look for a single lock in the log. Masters are few, and make good labels.
func Example_prometheus() {
	ctx := context.Background()
	addresses, stop := threeMasters()
	defer stop()

	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	observer := prometheusObserver(registry)
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
	registry.MustRegister(statsCollector{locks})
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{}) // http.Handle("/metrics", metrics)

	work(ctx, locks)
	notified()

	page := httptest.NewRecorder()
	metrics.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(withoutPorts(page.Body.String(), addresses)) {
		name, _, _ := strings.Cut(line, "{")
		switch {
		case strings.HasPrefix(name, "#"), strings.HasSuffix(line, " 0\n"):
		case strings.HasSuffix(name, "_bucket"), strings.Contains(name, "_sum "): // they depend on the moment
		case name == "muxlock_master_backlog_requests": // and so does this
		default:
			fmt.Print(line)
		}
	}
	// Unordered output:
	// muxlock_wait_seconds_count 1
	// muxlock_hold_seconds_count 1
	// muxlock_not_acquired_total{reason="taken"} 1
	// muxlock_acquired_total 1
	// muxlock_failed_attempts_total{result="taken"} 1
	// muxlock_releases_total{result="confirmed"} 1
	// muxlock_rounds_total 2
	// muxlock_round_requests_total 2
	// muxlock_round_requests_max 1
	// muxlock_master_up{master="m0"} 1
	// muxlock_master_up{master="m1"} 1
	// muxlock_master_up{master="m2"} 1
	// muxlock_master_votes{master="m0"} 1
	// muxlock_master_votes{master="m1"} 1
	// muxlock_master_votes{master="m2"} 1
}

// prometheusObserver registers the histograms and counters that need single events.
func prometheusObserver(registry prometheus.Registerer) *engine.Observer {
	buckets := prometheus.ExponentialBuckets(100e-6, 4, 10) // 100 us to 26 s
	wait := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "muxlock_wait_seconds", Help: "Time that callers waited for locks that they got.", Buckets: buckets,
	})
	hold := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "muxlock_hold_seconds", Help: "Time from getting a lock to releasing it.", Buckets: buckets,
	})
	notAcquired := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muxlock_not_acquired_total", Help: "Calls that ended without a lock.",
	}, []string{"reason"})
	registry.MustRegister(wait, hold, notAcquired)
	return &engine.Observer{
		Acquired: func(_ string, d time.Duration, _ int) { wait.Observe(d.Seconds()) },
		Released: func(_ string, d time.Duration, _ bool, _ error) { hold.Observe(d.Seconds()) },
		NotAcquired: func(_ string, _ time.Duration, _ int, err error) {
			reason := "other" // its ctx ended, the engine was closed, ...
			switch {
			case errors.Is(err, engine.ErrTaken):
				reason = "taken"
			case errors.Is(err, engine.ErrNoQuorum):
				reason = "no quorum"
			case errors.Is(err, engine.ErrOverloaded):
				reason = "overloaded"
			}
			notAcquired.WithLabelValues(reason).Inc()
		},
	}
}

// A statsCollector reads Stats once per scrape.
type statsCollector struct{ locks *engine.Engine }

func (c statsCollector) Describe(descs chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, descs)
}

func (c statsCollector) Collect(metrics chan<- prometheus.Metric) {
	// labels are pairs of name and value.
	put := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		with := prometheus.Labels{}
		for pair := range slices.Chunk(labels, 2) {
			with[pair[0]] = pair[1]
		}
		metrics <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, with), kind, value)
	}
	counter := func(name, help string, value uint64, labels ...string) {
		put(prometheus.CounterValue, name, help, float64(value), labels...)
	}
	gauge := func(name, help string, value int, labels ...string) {
		put(prometheus.GaugeValue, name, help, float64(value), labels...)
	}

	s := c.locks.Stats()
	counter("muxlock_acquired_total", "Locks given out.", s.Acquired)
	counter("muxlock_lost_total", "Locks lost while they were held. Alert on it.", s.Lost)
	counter("muxlock_retries_total", "Times that an Acquire asked the masters again.", s.Retries)
	counter("muxlock_events_dropped_total", "Events that the Observer and the Logger missed: they were too slow.", s.EventsDropped)
	gauge("muxlock_waiting", "Goroutines in line behind others of this process.", s.Waiting)
	const attempts = "muxlock_failed_attempts_total"
	counter(attempts, "Attempts at a lock that failed. Alert on no quorum.", s.NoQuorum, "result", "no quorum")
	counter(attempts, "Attempts at a lock that failed. Alert on no quorum.", s.Taken, "result", "taken")
	counter(attempts, "Attempts at a lock that failed. Alert on no quorum.", s.SplitVotes, "result", "split vote")
	counter(attempts, "Attempts at a lock that failed. Alert on no quorum.", s.Expired, "result", "too late")
	counter(attempts, "Attempts at a lock that failed. Alert on no quorum.", s.Denied, "result", "denied")
	const releases = "muxlock_releases_total"
	counter(releases, "Releases.", s.Released, "result", "confirmed")
	counter(releases, "Releases.", s.HandedOver, "result", "handed over")
	counter(releases, "Releases.", s.NotHeld, "result", "not held")
	counter(releases, "Releases.", s.ReleasesUnconfirmed, "result", "not confirmed")
	const renewals = "muxlock_renewals_total"
	counter(renewals, "Renewals in the background.", s.Renewed, "result", "confirmed")
	counter(renewals, "Renewals in the background.", s.RenewalsFailed, "result", "not confirmed")

	// Requests per round: rate(muxlock_round_requests_total[1m]) / rate(muxlock_rounds_total[1m]).
	counter("muxlock_rounds_total", "Batches sent.", s.Rounds)
	counter("muxlock_round_requests_total", "Requests in them.", s.Requests)
	gauge("muxlock_round_requests_max", "Requests in the largest of them.", s.LargestRound)
	gauge("muxlock_queued_requests", "Requests that wait for a round.", s.Queued)
	counter("muxlock_overloaded_total", "Calls refused because the queue was full.", s.Overloaded)
	for _, m := range s.Masters {
		gauge("muxlock_master_up", "1: it is sent rounds.", oneIf(m.Up), "master", m.Address)
		gauge("muxlock_master_votes", "1: it is up and may grant locks. Alert when the sum is below quorum + 1.",
			oneIf(m.Up && m.VotesFrom.IsZero()), "master", m.Address)
		counter("muxlock_master_set_aside_total", "Times that it was set aside.", m.SetAside, "master", m.Address)
		gauge("muxlock_master_backlog_requests", "Requests that wait for it alone.", m.Backlog, "master", m.Address)
		gauge("muxlock_master_pending_releases", "Releases that it could not be sent or has not answered.", m.PendingReleases, "master", m.Address)
		gauge("muxlock_master_tracking", "1: it notifies of released names.", oneIf(m.Tracking), "master", m.Address)
	}
}
