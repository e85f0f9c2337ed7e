package sizing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
	"muxlock/internal/clock"
	"muxlock/internal/faultproxy"
	"muxlock/internal/probe"
	"muxlock/internal/redlock"
	"muxlock/internal/testing/redistest"
)

// check compares a prediction with a measurement. Each has an interval of some four standard
// errors, so that of a dozen true predictions hardly ever one fails.
type check struct {
	rule                 string
	predicted, from, to  float64
	measured, least, top float64
	unit                 string
}

func (c check) holds() bool { return c.from <= c.top && c.least <= c.to }

// exact sets a prediction, with a tolerance for what its rule leaves out on purpose.
func (c check) exact(v, tolerance float64) check {
	c.predicted, c.from, c.to = v, v*(1-tolerance), v*(1+tolerance)
	return c
}

func (c check) share(k, n int) check {
	p := float64(k) / float64(n)
	half := 4 * math.Sqrt((p*(1-p)+1/float64(n))/float64(n))
	c.measured, c.least, c.top, c.unit = p, p-half, p+half, fmt.Sprintf("of %d", n)
	return c
}

func (c check) quantile(samples []float64, p float64) check {
	slices.Sort(samples)
	n := float64(len(samples))
	at := func(p float64) float64 { return samples[min(max(int(p*n), 0), len(samples)-1)] }
	half := 4 * math.Sqrt(p*(1-p)/n)
	c.measured, c.least, c.top, c.unit = at(p), at(p-half), at(p+half), fmt.Sprintf("ms, of %d", len(samples))
	return c
}

func inMs(d time.Duration) float64 { return float64(d) / 1e6 }

const (
	patience = 1500 * time.Millisecond // with late masters, which are never given up
	length   = 8 * time.Second
)

// TestValidate holds the rules against real servers: MUXLOCK_VALIDATE=1, or make validate.
func TestValidate(t *testing.T) {
	if os.Getenv("MUXLOCK_VALIDATE") == "" {
		t.Skip("make validate")
	}
	var checks []check
	for _, one := range []func(*testing.T) []check{quorums, holds, renewals} {
		for try := 1; ; try++ { // no rule covers a machine that stalls
			got := one(t)
			if try == 3 || !slices.ContainsFunc(got, func(c check) bool { return !c.holds() }) {
				checks = append(checks, got...)
				break
			}
		}
	}
	for _, c := range checks {
		t.Logf("%-50s %.4g (%.4g to %.4g), measured %.4g (%.4g to %.4g) %s", c.rule, c.predicted, c.from, c.to, c.measured, c.least, c.top, c.unit)
		if !c.holds() {
			t.Errorf("outside: %s", c.rule)
		}
	}
}

// quorums: an acquire takes what the q-th answer to a probe of all masters takes.
func quorums(t *testing.T) (checks []check) {
	for _, n := range []int{3, 5} {
		addrs := fars(t, n, bench.Lognormal(15*time.Millisecond, 0.6))
		var took []float64
		var mu sync.Mutex
		var all sync.WaitGroup
		callers := engines(t, 12, engine.Config{Masters: addrs})
		join := probed(t, addrs, 8, length)
		end := time.Now().Add(length)
		for i, e := range callers {
			all.Go(func() {
				for time.Now().Before(end) {
					begin := time.Now()
					lock, err := e.Acquire(t.Context(), fmt.Sprint("own", i), 0)
					one := time.Since(begin)
					if err != nil || lock.Release(t.Context()) != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					took = append(took, inMs(one))
					mu.Unlock()
					time.Sleep(150 * time.Millisecond) // until nothing is on its way
				}
			})
		}
		all.Wait()
		s := sizing.Size(join(), sizing.Ask{Hold: new(bench.Fixed(time.Second))})
		checks = append(checks, check{rule: fmt.Sprintf("median of a quorum of %d", n)}.exact(inMs(s.Trip), 0.08).quantile(took, 0.5))
		checks = append(checks, check{rule: fmt.Sprintf("p%g of a quorum of %d", s.QuorumP, n)}.exact(inMs(s.Quorum), 0.2).quantile(took, s.QuorumP/100))
	}
	return checks
}

// lost returns the lost locks and all locks of a run with that lease.
func lost(t *testing.T, cfg bench.Config, addrs []string, c sizing.Config) (int, int) {
	r := run(t, cfg, addrs, c)
	return int(r.Totals.LostValidity), int(r.Totals.Quorums())
}

// holds: a lease loses the share of the locks that are held for longer than it leaves. One as long as needed
// loses none.
func holds(t *testing.T) []check {
	const share = 0.05
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	hold := bench.Exp(40 * time.Millisecond)
	cfg := bench.Config{Workers: 256, Keys: 256, Rate: 300, Hold: hold, Duration: length, Warmup: 300 * time.Millisecond, Seed: 1}
	s := sizing.Size(probed(t, addrs, 1, 2*time.Second)(), sizing.Ask{Hold: &hold})
	short, needed := s.Config, s.Config
	short.TTL = time.Duration(-math.Log(share)*float64(hold.Mean())/(1-redlock.DefaultDrift)) + 2*time.Millisecond
	short.MasterTimeout = 20 * time.Millisecond
	needed.TTL = s.Needed
	k, n := lost(t, cfg, addrs, short)
	few, of := lost(t, cfg, addrs, needed)
	return []check{
		check{rule: "lost with a lease of the hold alone"}.exact(share, 0.15).share(k, n),
		check{rule: "lost with the lease that is needed", predicted: 0, to: 1e-3}.share(few, of),
	}
}

// renewals: the lease sized for an outage outlasts it; a lease as long as the outage does not.
func renewals(t *testing.T) []check {
	const outage, names = 600 * time.Millisecond, 200
	masters := redistest.Masters(t, 3)
	addrs := redistest.Addrs(masters)
	stall := func(after time.Duration) {
		time.Sleep(after)
		for _, m := range masters {
			require.NoError(t, m.Pause())
		}
		time.Sleep(outage)
		for _, m := range masters {
			require.NoError(t, m.Resume())
		}
	}
	m := sizing.Measured{Masters: 3, Watched: 100 * time.Second, Slow: []sizing.Moment{{At: 50 * time.Second, Took: outage}}}
	for i := range 2000 {
		at := time.Duration(i) * 50 * time.Millisecond
		trip := max(time.Millisecond, min(50*time.Second+outage-at, outage))
		if at < 50*time.Second {
			trip = time.Millisecond
		}
		m.Rounds = append(m.Rounds, sizing.Round{At: at, Trips: []time.Duration{trip, trip, trip}})
	}
	long := bench.Fixed(time.Hour)
	s := sizing.Size(m, sizing.Ask{Hold: &long})
	checks := []check{}
	for _, c := range []struct {
		ttl      time.Duration
		from, to float64
	}{{s.Needed, 0, 0}, {outage, 0.5, 1}} {
		cfg := s.Config
		cfg.TTL = c.ttl
		done := make(chan struct{})
		go func() { defer close(done); stall(3 * time.Second) }()
		r := run(t, bench.Config{Workers: 16, Keys: names, Op: bench.Hold, Duration: 7 * time.Second, Warmup: time.Second}, addrs, cfg)
		<-done
		checks = append(checks, check{rule: fmt.Sprintf("renewed leases of %s lost to %s", cfg.TTL.Round(time.Millisecond), outage), predicted: c.from, from: c.from, to: c.to}.share(int(r.Holding.Lost), names))
	}
	return checks
}

func run(t *testing.T, cfg bench.Config, addrs []string, c sizing.Config) *bench.Result {
	cfg.TTL, cfg.Outages, cfg.KeyPrefix = c.TTL, true, fmt.Sprint(rand.Uint64())
	impl, _ := rivals.Find("muxlock")
	locker, err := impl.Open(t.Context(), rivals.Options{Masters: addrs, TTL: c.TTL, Engine: result.Engine{MaxTTL: time.Minute, MasterTimeout: c.MasterTimeout}, Workers: cfg.Workers, NewMasters: true})
	require.NoError(t, err)
	r, err := bench.Run(t.Context(), "muxlock", locker, cfg)
	require.NoError(t, err)
	require.NoError(t, locker.Close())
	return r
}

// fars returns addresses that lead to masters whose replies are late; their order is kept.
func fars(t *testing.T, n int, late bench.Span) (addrs []string) {
	alarms := clock.NewAlarms()
	for _, master := range redistest.Addrs(redistest.Masters(t, n)) {
		p, err := faultproxy.Listen(master, alarms)
		require.NoError(t, err)
		p.Delay(func() func() time.Duration { return late.Sampler(rand.Uint64(), 0) })
		addrs = append(addrs, p.Addr())
	}
	return addrs
}

// engines returns engines without common connections.
func engines(t *testing.T, n int, cfg engine.Config) (all []*engine.Engine) {
	cfg.MastersAreNew, cfg.MasterTimeout = true, patience
	for range n {
		e, err := engine.New(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(func() { e.Close() })
		all = append(all, e)
	}
	return all
}

// probed starts single probers, each on its own connections and with one probe at a time.
func probed(t *testing.T, addrs []string, probers int, length time.Duration) (join func() sizing.Measured) {
	var all []*probe.Prober
	for range probers {
		p, err := probe.Open(t.Context(), addrs, probe.Options{Every: 100 * time.Millisecond, Timeout: time.Second})
		require.NoError(t, err)
		p.Start(t.Context(), time.Now(), length)
		all = append(all, p)
	}
	return func() sizing.Measured {
		m := sizing.Measured{Masters: len(addrs), Watched: length}
		for _, p := range all {
			m.Rounds = append(m.Rounds, p.Stop().Rows...)
		}
		return m
	}
}
