package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noop grants at once and claims no validity.
type noop struct{}

var longAgo = time.Unix(0, 0)

func (noop) Acquire(context.Context, string, time.Duration) (Held, error)    { return noop{}, nil }
func (noop) TryAcquire(context.Context, string, time.Duration) (Held, error) { return noop{}, nil }
func (noop) Until() time.Time                                                { return longAgo }
func (noop) Release(context.Context) error                                   { return nil }
func (noop) Close() error                                                    { return nil }

// grants is a lock whose acquires call it.
type grants func(ctx context.Context, name string, ttl time.Duration) (Held, error)

func (g grants) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	return g(ctx, name, ttl)
}

func (g grants) TryAcquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	return g(ctx, name, ttl)
}
func (grants) Close() error { return nil }

// slow is noop with a time for each call. A test may change it per call.
type slow struct {
	acquire func(ctx context.Context) error
	release time.Duration
}

func (s slow) Acquire(ctx context.Context, _ string, _ time.Duration) (Held, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s slow) TryAcquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	return s.Acquire(ctx, name, ttl)
}
func (s slow) Until() time.Time { return longAgo }
func (s slow) Release(context.Context) error {
	time.Sleep(s.release)
	return nil
}
func (s slow) Close() error { return nil }

func takes(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return nil
	}
}

func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// leases is a correct lock with expiring leases in memory. With slots above 1 it is broken: it grants
// so many at once.
type leases struct {
	slots int
	poll  time.Duration
	fence func(n uint64) uint64 // of the n-th lock of a name; nil: none
	mu    sync.Mutex            // guards the following
	held  map[string][]*lease
	given map[string]uint64
}

type lease struct {
	l     *leases
	name  string
	until time.Time
	fence uint64
}

func newLeases(slots int, poll time.Duration) *leases {
	return &leases{slots: slots, poll: poll, held: map[string][]*lease{}, given: map[string]uint64{}}
}

func (l *leases) TryAcquire(_ context.Context, name string, ttl time.Duration) (Held, error) {
	// As in a real lock, the validity counts from before the request.
	until := time.Now().Add(ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	live := l.held[name][:0]
	for _, h := range l.held[name] {
		if time.Now().Before(h.until) {
			live = append(live, h)
		}
	}
	l.held[name] = live
	if len(live) >= l.slots {
		return nil, ErrRefused
	}
	h := &lease{l: l, name: name, until: until}
	l.held[name] = append(live, h)
	if l.fence != nil {
		l.given[name]++
		h.fence = l.fence(l.given[name])
	}
	return h, nil
}

func (l *leases) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	return untilHeld(ctx, l.poll, func() (Held, error) { return l.TryAcquire(ctx, name, ttl) })
}

// untilHeld tries again after a pause, until it holds or ctx ends.
func untilHeld(ctx context.Context, pause time.Duration, try func() (Held, error)) (Held, error) {
	for {
		if h, err := try(); err == nil {
			return h, nil
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *leases) Close() error    { return nil }
func (h *lease) Until() time.Time { return h.until }
func (h *lease) Fence() uint64    { return h.fence }
func (h *lease) Slot() int        { return 0 }
func (h *lease) Release(context.Context) error {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	for i, other := range h.l.held[h.name] {
		if other == h {
			h.l.held[h.name] = append(h.l.held[h.name][:i], h.l.held[h.name][i+1:]...)
			return nil
		}
	}
	return nil
}
