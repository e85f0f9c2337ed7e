package sizing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/engine"
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

// TestValidate holds the rules against real servers: MUXLOCK_VALIDATE=1, or make validate.
func TestValidate(t *testing.T) {
	if os.Getenv("MUXLOCK_VALIDATE") == "" {
		t.Skip("make validate")
	}
	var checks []check
	for _, one := range []func(*testing.T) []check{quorums, splits, gaps, holds, renewals} {
		for try := 1; ; try++ { // no rule covers a machine that stalls
			got := one(t)
			if try == 3 || !slices.ContainsFunc(got, func(c check) bool { return !c.holds() }) {
				checks = append(checks, got...)
				break
			}
		}
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nrule\tpredicted\tfrom\tto\tmeasured\tfrom\tto\t\t")
	for _, c := range checks {
		verdict := map[bool]string{true: "within", false: "OUTSIDE"}[c.holds()]
		fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%s\t%s\n", c.rule, c.predicted, c.from, c.to, c.measured, c.least, c.top, c.unit, verdict)
	}
	w.Flush()
	t.Log(table.String())
	for _, c := range checks {
		if !c.holds() {
			t.Errorf("outside: %s", c.rule)
		}
	}
}

// quorums: an acquire takes what the q-th answer to a probe of all masters takes.
func quorums(t *testing.T) (checks []check) {
	for _, n := range []int{3, 5} {
		addrs := fars(t, n, never, lognormal(15*time.Millisecond, 0.6))
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
		s := sizing.Size(join(), sizing.Ask{RTO: time.Hour})
		for _, in := range s.Inputs {
			checks = append(checks, check{rule: fmt.Sprintf("median of a quorum of %d", n)}.exact(inMs(in.P50), 0.08).quantile(took, 0.5))
			checks = append(checks, check{rule: fmt.Sprintf("p99 of a quorum of %d", n)}.exact(inMs(in.P99), 0.2).quantile(took, 0.99))
		}
	}
	return checks
}

// splits: two callers that are spread over a span split their vote as often as SplitGaps says.
func splits(t *testing.T) []check {
	const callers, groups, span = 2, 40, 100 * time.Millisecond
	// All callers of a round have sent before the first answer is back. A refused caller releases.
	own := lognormal(20*time.Millisecond, 0.5)
	addrs := fars(t, 4, func() time.Duration { return 60*time.Millisecond + own() }, never)
	all := engines(t, callers*groups, engine.Config{Masters: addrs})
	join := probed(t, addrs, 4, length)
	var mu sync.Mutex
	split, rounds := 0, 0
	var running sync.WaitGroup
	end := time.Now().Add(length)
	for g := range groups {
		running.Go(func() {
			for round := 0; time.Now().Before(end); round++ {
				won := make([]bool, callers)
				var both sync.WaitGroup
				for i, e := range all[g*callers : (g+1)*callers] {
					both.Go(func() {
						time.Sleep(time.Duration(rand.Float64() * float64(span)))
						lock, err := e.TryAcquire(t.Context(), fmt.Sprint("split", g, round), 0)
						if won[i] = err == nil; won[i] {
							time.Sleep(span) // no caller comes later
							_ = lock.Release(t.Context())
						} else if !errors.Is(err, engine.ErrTaken) {
							t.Error(err)
						}
					})
				}
				both.Wait()
				mu.Lock()
				if rounds++; !won[0] && !won[1] {
					split++
				}
				mu.Unlock()
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
	running.Wait()
	m := join()
	for _, r := range m.Rounds { // only requests are late; double them, as if replies were too
		for i := range r.Trips {
			r.Trips[i] *= 2
		}
	}
	return []check{check{rule: "votes of 2 split over 100ms"}.exact(sizing.SplitVotes(m.SplitGaps(), callers, float64(span)), 0.15).share(split, rounds)}
}

// gaps: waiters without wake-ups leave the lock free for as long as HeldGap says.
func gaps(t *testing.T) (checks []check) {
	const retry = 100 * time.Millisecond
	masters := redistest.Masters(t, 3)
	var addrs []string
	for _, m := range masters { // without client tracking waiters poll
		redistest.Command(t, m, append([]string{"ACL", "SETUSER", "polls", "on", ">x", "~*", "-@all"}, strings.Fields("+info +script|load +evalsha +set +get +del +pttl +pexpire +mget")...)...)
		addrs = append(addrs, "redis://polls:x@"+m.Addr())
	}
	for _, waiters := range []int{1, 4} {
		var free []float64
		var mu sync.Mutex
		const names = 8
		callers := engines(t, names*(waiters+1), engine.Config{Masters: addrs, RetryHeld: retry})
		ctx, cancel := context.WithTimeout(t.Context(), length)
		var all sync.WaitGroup
		for name := range names {
			var released time.Time // guarded by mu
			for _, e := range callers[name*(waiters+1) : (name+1)*(waiters+1)] {
				all.Go(func() {
					for ctx.Err() == nil {
						lock, err := e.Acquire(ctx, fmt.Sprint("gap", waiters, name), 0)
						if err != nil {
							return
						}
						mu.Lock()
						if !released.IsZero() {
							free = append(free, inMs(time.Since(released)))
						}
						mu.Unlock()
						time.Sleep(300*time.Millisecond + time.Duration(rand.Float64()*float64(retry)))
						mu.Lock()
						released = time.Now()
						mu.Unlock()
						_ = lock.Release(context.WithoutCancel(ctx))
						select { // until another one has it
						case <-time.After(2 * retry):
						case <-ctx.Done():
						}
					}
				})
			}
		}
		all.Wait()
		cancel()
		checks = append(checks, check{rule: fmt.Sprintf("a lock lies free, %d polling", waiters)}.exact(inMs(time.Duration(sizing.HeldGap(retry, waiters))), 0.1).mean(free))
	}
	return checks
}

// lost returns the lost locks and all locks of a run with that lease.
func lost(t *testing.T, cfg bench.Config, addrs []string, c sizing.Config) (int, int) {
	r := run(t, cfg, addrs, c)
	return int(r.Totals.LostValidity), int(r.Totals.Quorums())
}

// holds: a lease of exactly the quantile of the hold loses that share of the locks. The sized lease
// loses no more than --eps.
func holds(t *testing.T) []check {
	addrs := redistest.Addrs(redistest.Masters(t, 3))
	hold := bench.Exp(40 * time.Millisecond)
	cfg := bench.Config{Workers: 256, Keys: 256, Rate: 300, Hold: hold, Duration: length, Warmup: 300 * time.Millisecond, Seed: 1}
	ask := sizing.Ask{Eps: 0.05, RTO: time.Minute, Pause: 0, Hold: &hold}
	s := sizing.Size(probed(t, addrs, 1, 2*time.Second)(), ask)
	short := s.Config
	short.TTL = time.Duration(float64(s.Least) - float64(s.Acquire.Took+s.Pause.Took)/(1-s.Config.Drift))
	short.MasterTimeout = 20 * time.Millisecond
	k, n := lost(t, cfg, addrs, short)
	few, of := lost(t, cfg, addrs, s.Config)
	return []check{
		check{rule: "lost with a lease of the hold alone"}.exact(ask.Eps, 0.15).share(k, n),
		check{rule: "lost with the lease that was sized, at most --eps", predicted: ask.Eps, to: ask.Eps}.share(few, of),
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
	s := sizing.Size(m, sizing.Ask{Eps: 1e-6, RTO: time.Minute, Hold: &long})
	checks := []check{}
	for _, c := range []struct {
		ttl      time.Duration
		from, to float64
	}{{s.Config.TTL, 0, 0}, {outage, 0.5, 1}} {
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
	locker, err := impl.Open(t.Context(), rivals.Options{Masters: addrs, TTL: c.TTL, MaxTTL: time.Minute, MasterTimeout: c.MasterTimeout, Workers: cfg.Workers, NewMasters: true})
	require.NoError(t, err)
	r, err := bench.Run(t.Context(), "muxlock", locker, cfg)
	require.NoError(t, err)
	require.NoError(t, locker.Close())
	return r
}
