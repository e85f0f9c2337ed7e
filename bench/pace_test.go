package bench

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// inVirtualTime is virtual for a locker that is made in it.
func inVirtualTime(t *testing.T, l func() Locker, cfg Config, f func(*testing.T, *Result)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, cfg.Validate())
		r, err := newRunner(t.Context(), "test", l(), cfg, false).run(t.Context())
		require.NoError(t, err)
		f(t, r)
		requireJSON(t, r)
	})
}

func TestResponseIsWaitAndService(t *testing.T) {
	// Two workers at 4 ms a cycle: 500/s at most, so that bursts wait.
	l := slow{acquire: takes(3 * time.Millisecond), release: time.Millisecond}
	cfg := Config{Workers: 2, Rate: 400, Duration: 5 * time.Second, Warmup: time.Second, TTL: time.Second, Seed: 1}
	virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) {
		l := r.Latency
		require.Greater(t, l.Wait.P["90"], 4*ms)
		require.InDelta(t, l.Response.Mean, l.Wait.Mean+l.Service.Mean, 0.002*l.Response.Mean)
		require.InEpsilon(t, 3e6, l.Service.Max, 0.001)
		require.Equal(t, l.Response.Count, l.Wait.Count)
		require.EqualValues(t, 1, l.Lag.Max, "all workers were busy, or one took it at once")
		require.Positive(t, r.Totals.Late)
		require.Less(t, r.Totals.Late, r.Totals.Started)
	})
}

// A generator that does not run for a while is one that nobody has the baton of.
func TestAGeneratorThatCannotKeepUpIsNotValid(t *testing.T) {
	for _, c := range []struct {
		name  string
		stall time.Duration
		valid bool
	}{
		{"never stalls", 0, true},
		{"stalls for less than matters", 900 * time.Microsecond, true},
		{"stalls", 20 * time.Millisecond, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{Workers: 8, Rate: 500, Arrivals: Even, Duration: 4 * time.Second, TTL: time.Second}
			r := newRunner(t.Context(), "test", slow{acquire: takes(time.Millisecond)}, cfg, false)
			var staller sync.WaitGroup
			staller.Go(func() {
				for r.phase.Load() != stopped {
					time.Sleep(100 * time.Millisecond)
					<-r.pacer.baton
					time.Sleep(c.stall)
					r.pacer.baton <- struct{}{}
				}
			})
			res, err := r.run(t.Context())
			staller.Wait()
			require.NoError(t, err)
			require.Equal(t, c.valid, res.Valid.OK, "%s: %v", c.name, res.Valid.Reasons)
			if !c.valid {
				require.Contains(t, res.Valid.Reasons[0], ReasonGenerator)
				require.Greater(t, res.Latency.Lag.P["99"], 10*ms)
			}
		})
	}
}

func TestDroppedArrivalsAreNotServed(t *testing.T) {
	// Two workers at 10 ms a cycle: 200/s of the 400/s.
	l := slow{acquire: takes(10 * time.Millisecond)}
	cfg := Config{Workers: 2, Rate: 400, Arrivals: Even, Duration: 6 * time.Second, Warmup: time.Second, TTL: time.Second, DropAfter: 50 * time.Millisecond}
	virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) {
		require.Len(t, r.Valid.Reasons, 1, "it does not pile up: %v", r.Valid.Reasons)
		require.Regexp(t, `^rate not met: offered 400.0/s, achieved 20\d.\d/s, dropped 19\d.\d/s$`, r.Valid.Reasons[0])
		require.InDelta(t, 1200, r.Totals.Dropped, 30)
		require.InDelta(t, r.Totals.Offered, r.Totals.Started+r.Totals.Dropped, 21)
		require.LessOrEqual(t, r.Latency.Wait.P["99.99"], 50*ms+50_000)
		var dropped int64
		for _, p := range r.Series {
			require.InDelta(t, 200, p.Dropped, 25)
			dropped += p.Dropped
		}
		require.Equal(t, r.Totals.Dropped, dropped+r.Drain.Dropped)
		require.Equal(t, r.Totals.Offered, r.Totals.Finished+r.Totals.Dropped)
		require.Equal(t, r.Totals.Offered, r.Latency.Response.Count)
		require.Equal(t, r.Totals.Dropped, r.Latency.Response.Censored)
	})
	cfg.DropAfter = 0
	virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) {
		require.Zero(t, r.Totals.Dropped)
		require.Greater(t, r.Latency.Wait.Max, 1000*ms)
	})
}

// diary writes down what is locked when, and for how long.
type diary struct {
	mu    sync.Mutex // guards the following
	begin time.Time
	pages []*page
}

type page struct {
	d    *diary
	name string
	at   time.Duration // since begin
	held time.Duration
}

func (d *diary) Acquire(_ context.Context, name string, _ time.Duration) (Held, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &page{d: d, name: name, at: time.Since(d.begin)}
	d.pages = append(d.pages, p)
	return p, nil
}

func (d *diary) TryAcquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	return d.Acquire(ctx, name, ttl)
}
func (d *diary) Close() error    { return nil }
func (p *page) Until() time.Time { return longAgo }
func (p *page) Release(context.Context) error {
	p.held = time.Since(p.d.begin) - p.at
	return nil
}

func TestNamesAndHoldsAreThoseOfTheArrivalWhicheverWorkerTakesIt(t *testing.T) {
	written := func(workers int, seed uint64) (pages []page) {
		cfg := Config{Workers: workers, Rate: 1000, Keys: 100, Dist: Uniform(), Hold: Exp(2 * time.Millisecond),
			Duration: time.Second, TTL: time.Minute, Seed: seed, KeyPrefix: "k"}
		d := &diary{}
		inVirtualTime(t, func() Locker { d.begin = time.Now(); return d }, cfg, func(*testing.T, *Result) {})
		for _, p := range d.pages[:800] {
			pages = append(pages, page{name: p.name, at: p.at, held: p.held})
		}
		return pages
	}
	require.Equal(t, written(50, 7), written(200, 7))
	require.NotEqual(t, written(50, 7), written(50, 8))
}

func TestHoldsAreMeasured(t *testing.T) {
	l := slow{acquire: takes(time.Millisecond), release: time.Millisecond}
	cfg := Config{Workers: 1, Duration: time.Second, TTL: time.Second, Hold: Fixed(3 * time.Millisecond)}
	virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) {
		require.Equal(t, r.Latency.Cycle.Count, r.Latency.Hold.Count)
		require.InEpsilon(t, 3e6, r.Latency.Hold.Min, 0.001)
		require.InEpsilon(t, 3e6, r.Latency.Hold.Max, 0.001)
	})
	cfg.Hold = Span{}
	virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) { require.Nil(t, r.Latency.Hold) })
}

func TestWorkersOfAClosedLoopBeginSpreadOverTheRamp(t *testing.T) {
	cfg := Config{Workers: 10, Warmup: 3 * time.Second, Ramp: 2 * time.Second, Duration: time.Second,
		TTL: time.Minute, Hold: Fixed(time.Hour), KeyPrefix: "k"}
	cfg.TTL = 2 * time.Hour
	d := &diary{}
	inVirtualTime(t, func() Locker { d.begin = time.Now(); return d }, cfg, func(t *testing.T, r *Result) {
		require.Len(t, d.pages, 10)
		for i, p := range d.pages {
			require.Equal(t, time.Duration(i)*200*time.Millisecond, p.at)
		}
	})
}
