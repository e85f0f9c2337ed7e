package engine

import (
	"context"
	"time"

	"muxlock/internal/clock"
)

// pause waits before an attempt.
func (e *Engine) pause(ctx context.Context, d time.Duration) error {
	if d < finest {
		clock.Nap(d)
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closing:
		return ErrClosed
	}
}

// finest is the shortest sleep of a timer in an idle Go process: it rounds shorter sleeps up to this.
const finest = time.Millisecond

// ended is a ctx that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
