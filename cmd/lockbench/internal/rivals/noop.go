package rivals

import (
	"context"
	"time"

	"muxlock/bench"
)

// noop grants everything at once, so that a run shows the cost of the load
// generator and, where workers share names, that the audit finds two holders.
type noop struct{}

func openNoop(context.Context, Options) (bench.Locker, error) { return noop{}, nil }

func (noop) Acquire(ctx context.Context, _ string, _ time.Duration) (bench.Held, error) {
	return noop{}, ctx.Err()
}

func (noop) TryAcquire(ctx context.Context, _ string, _ time.Duration) (bench.Held, error) {
	return noop{}, ctx.Err()
}

func (noop) Until() time.Time              { return time.Time{} }
func (noop) Release(context.Context) error { return nil }
func (noop) Close() error                  { return nil }
