package rivals

import (
	"context"
	"time"

	"muxlock/bench"
)

// Noop is a bench.Locker that grants everything at once. A run of it shows the cost of the load
// generator itself. If workers share names, it shows that the audit finds two holders.
type Noop struct{}

// Acquire grants.
func (Noop) Acquire(ctx context.Context, _ string, _ time.Duration) (bench.Held, error) {
	return Noop{}, ctx.Err()
}

// TryAcquire grants.
func (Noop) TryAcquire(ctx context.Context, _ string, _ time.Duration) (bench.Held, error) {
	return Noop{}, ctx.Err()
}

// AcquireShared grants.
func (Noop) AcquireShared(ctx context.Context, _ string, _ time.Duration) (bench.Held, error) {
	return Noop{}, ctx.Err()
}

// AcquirePermit grants.
func (Noop) AcquirePermit(ctx context.Context, _ string, _ int, _ time.Duration) (bench.Held, error) {
	return Noop{}, ctx.Err()
}

// Until returns the zero time: a Noop never ends.
func (Noop) Until() time.Time { return time.Time{} }

// Extend does nothing.
func (Noop) Extend(context.Context, time.Duration) error { return nil }

// Release does nothing.
func (Noop) Release(context.Context) error { return nil }

// Close does nothing.
func (Noop) Close() error { return nil }
