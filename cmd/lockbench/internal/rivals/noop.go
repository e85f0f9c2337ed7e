package rivals

import (
	"context"
	"time"

	"muxlock/bench"
)

// noop grants everything at once, so that a run shows the cost of the load
// generator. Its locks ended long ago, which keeps the audit from calling two
// holders of one name an overlap.
type noop struct{}

func openNoop(context.Context, Options) (bench.Locker, error) { return noop{}, nil }

func (noop) Acquire(ctx context.Context, _ string, _ time.Duration) (bench.Held, error) {
	return noop{}, ctx.Err()
}

func (noop) TryAcquire(ctx context.Context, _ string, _ time.Duration) (bench.Held, error) {
	return noop{}, ctx.Err()
}

func (noop) Until() time.Time              { return time.Unix(0, 0) }
func (noop) Release(context.Context) error { return nil }
func (noop) Close() error                  { return nil }
