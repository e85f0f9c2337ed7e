package validation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/sizing"
)

const (
	gapImpl    = "redsync-goredis"
	gapMasters = 3
	// A holder holds long enough that no waiter's delays have anything to do with when
	// it got the lock.
	gapHold   = 600 * time.Millisecond
	gapSpread = 300 * time.Millisecond
)

// gapWaiters is how many wait, and on how many names side by side.
var gapWaiters = []struct{ waiters, names int }{{1, 32}, {3, 24}, {7, 16}}

// gapSettings is one measurement: all of them side by side, since they hardly do a thing.
var gapSettings = []setting{{fmt.Sprintf("%s, %d masters", gapImpl, gapMasters), 2, func(ctx context.Context, o Options) ([]Check, error) {
	gaps, bare, err := measureGaps(ctx, o)
	var checks []Check
	for i, g := range gapWaiters {
		if err == nil {
			checks = append(checks, gapCheck(g.waiters, bare, gaps[i]))
		}
	}
	return checks, err
}}}

func gapCheck(waiters int, bare float64, gaps []float64) Check {
	polling := sizing.RedsyncPolling
	return Check{
		Formula: "F10", Quantity: fmt.Sprintf("mean hand-over, %d waiting", waiters), Unit: bench.UnitNs,
		Predicted: exact(polling.Gap(waiters) + bare), Measured: mean(gaps),
	}
}

// measureGaps returns the times from a release to the next acquire, by number of waiters,
// and what one takes beside the waiting.
func measureGaps(ctx context.Context, o Options) (gaps [][]float64, bare float64, err error) {
	s, err := openSite(ctx, gapMasters)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	impl, _ := rivals.Find(gapImpl)
	callers := 0
	for _, g := range gapWaiters {
		callers += g.names * (g.waiters + 1)
	}
	locker, err := impl.Open(ctx, rivals.Options{Masters: s.set.Addrs, TTL: lease, Workers: callers, NewMasters: true})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, locker.Close()) }()
	if bare, err = alone(ctx, locker); err != nil {
		return nil, 0, err
	}

	ctx, cancel := context.WithTimeout(ctx, o.Length)
	defer cancel()
	gaps = make([][]float64, len(gapWaiters))
	var mu sync.Mutex
	var all errgroup.Group
	for i, g := range gapWaiters {
		for n := range g.names {
			r := &relay{locker: locker, name: fmt.Sprintf("gap%d:%d", i, n), got: make(chan struct{})}
			r.note = func(gap time.Duration) {
				mu.Lock()
				gaps[i] = append(gaps[i], float64(gap))
				mu.Unlock()
			}
			for w := range g.waiters + 1 {
				all.Go(func() error { return r.run(ctx, seeded(o.Seed, uint64(i<<16|n<<8|w))) })
			}
		}
	}
	err = all.Wait()
	return gaps, bare, err
}

// alone is what a hand-over takes beside the waiting: an acquire that nobody hinders, and
// half of the release before it, at which the masters have deleted the key.
func alone(ctx context.Context, locker bench.Locker) (float64, error) {
	const times = 50
	var sum time.Duration
	for range times {
		begin := time.Now()
		lock, err := locker.TryAcquire(ctx, "gap", lease)
		if err != nil {
			return 0, err
		}
		got := time.Now()
		if err := lock.Release(ctx); err != nil {
			return 0, err
		}
		sum += got.Sub(begin) + time.Since(got)/2
	}
	return float64(sum) / times, nil
}

// relay is one name that is handed from one to the other.
type relay struct {
	locker bench.Locker
	name   string
	note   func(gap time.Duration)

	mu       sync.Mutex    // guards the following
	released time.Time     // by the last holder; zero: there was none
	got      chan struct{} // closed and replaced when somebody gets the lock
}

// run acquires, holds, releases, and stands back until another one has the lock.
func (r *relay) run(ctx context.Context, rng *rand.Rand) error {
	for {
		lock, err := r.locker.Acquire(ctx, r.name, lease)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, bench.ErrRefused): // after 32 tries; the next is as late as all are
			polling := sizing.RedsyncPolling
			time.Sleep(time.Duration(polling.From + rng.Float64()*(polling.To-polling.From)))
			continue
		case err != nil:
			return err
		}
		r.acquired(time.Now())
		time.Sleep(gapHold + time.Duration(rng.Int64N(int64(gapSpread))))
		r.mu.Lock()
		next := r.got
		r.released = time.Now() // before it is: the next may have it before Release returns
		r.mu.Unlock()
		if err := lock.Release(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *relay) acquired(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.released.IsZero() {
		r.note(now.Sub(r.released))
	}
	close(r.got)
	r.got = make(chan struct{})
}
