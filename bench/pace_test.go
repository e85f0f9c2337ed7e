package bench

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestResponseIsWaitAndService(t *testing.T) {
	// Two workers at 4 ms a cycle: 500/s at most, so that bursts wait.
	l := slow{acquire: takes(3 * time.Millisecond), release: time.Millisecond}
	cfg := Config{Workers: 2, Rate: 400, Duration: 5 * time.Second, Warmup: time.Second, TTL: time.Second, Seed: 1}
	r := measure(t, l, cfg)
	all := r.Latency
	require.Greater(t, all[WaitTime].P["90"], 4*ms)
	require.InDelta(t, all[ResponseTime].Mean, all[WaitTime].Mean+all[AcquireTime].Mean, 0.002*all[ResponseTime].Mean)
	require.InEpsilon(t, 3e6, all[AcquireTime].Max, 0.001)
	require.Equal(t, all[ResponseTime].Count, all[WaitTime].Count)
	require.EqualValues(t, 1, all[LagTime].Max, "all workers were busy, or one took it at once")
	require.Positive(t, r.Totals.Late)
	require.Less(t, r.Totals.Late, r.Totals.Started)
}

// While no worker has the baton, the generator does not run.
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
			cfg := Config{Workers: 8, Rate: 500, Arrivals: ArrivalsUniform, Duration: 4 * time.Second, TTL: time.Second}
			r := newRunner(t.Context(), "test", slow{acquire: takes(time.Millisecond)}, cfg, newTable(cfg), time.Now)
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
				require.Equal(t, ReasonGenerator, res.Valid.Reasons[0].Kind)
				require.Greater(t, res.Latency[LagTime].P["99"], 10*ms)
			}
		})
	}
}

// page is what a lock was, and when.
type page struct {
	noop
	name  string
	begin time.Time
	at    time.Duration // since begin
	held  time.Duration
}

func (p *page) Release(context.Context) error {
	p.held = time.Since(p.begin) - p.at
	return nil
}

func TestNamesAndHoldsAreThoseOfTheArrivalWhicheverWorkerTakesIt(t *testing.T) {
	written := func(workers int, seed uint64) (pages []page) {
		cfg := Config{Workers: workers, Rate: 1000, Keys: 100, Dist: Uniform(), Hold: Exp(2 * time.Millisecond),
			Duration: time.Second, TTL: time.Minute, Seed: seed, KeyPrefix: "k"}
		written := make(chan *page, 2000)
		measureNew(t, func() Locker {
			begin := time.Now()
			return grants(func(_ context.Context, name string, _ time.Duration) (Held, error) {
				p := &page{name: name, begin: begin, at: time.Since(begin)}
				written <- p
				return p, nil
			})
		}, cfg)
		for range 800 {
			p := <-written
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
	r := measure(t, l, cfg)
	require.Equal(t, r.Latency[CycleTime].Count, r.Latency[HoldTime].Count)
	require.InEpsilon(t, 3e6, r.Latency[HoldTime].Min, 0.001)
	require.InEpsilon(t, 3e6, r.Latency[HoldTime].Max, 0.001)
	cfg.Hold = Span{}
	virtual(t, nil, l, cfg, func(t *testing.T, r *Result, err error) { require.Nil(t, r.Latency[HoldTime]) })
}

func TestAHoldThatOutlivesTheRunCountsAsAtLeastAsLong(t *testing.T) {
	l := slow{acquire: takes(time.Millisecond), release: time.Millisecond}
	cfg := Config{Workers: 1, Duration: time.Second, TTL: time.Hour, Hold: Fixed(90 * time.Second)}
	r := measure(t, l, cfg)
	require.EqualValues(t, 1, r.Latency[HoldTime].Censored)
	require.InEpsilon(t, 2e9, r.Latency[HoldTime].Max, 0.01, "until the end of the drain")
	cfg.Duration = 91 * time.Second
	r = measure(t, l, cfg)
	require.InEpsilon(t, 90e9, r.Latency[HoldTime].Max, 0.001, "not a minute")
}
