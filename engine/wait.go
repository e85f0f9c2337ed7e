package engine

import (
	"context"
	"runtime/trace"
	"time"
)

type waitKey struct{}

// WithWait returns a copy of ctx that gives acquires a budget: each call, and each campaign of Lead, waits for d at most.
// The budget bounds neither the work nor a Release or Extend: the ctx of fn ends as with ctx alone, and an acquire under it
// has no budget unless WithWait gives it one.
//
//	err := locks.Do(engine.WithWait(ctx, 300*time.Millisecond), name, ttl, fn)
//
// An acquire whose budget is used up returns what it returns at the deadline of its ctx: ErrTaken or ErrNoQuorum, joined to
// context.DeadlineExceeded. A d that is not positive is ErrInvalid there, before anything is sent.
func WithWait(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, waitKey{}, d)
}

// waiting begins an acquire, a region of Go's execution tracer. It returns a copy of ctx that ends with its budget, or ctx if it has none.
func waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	stop := func() {}
	if d, ok := ctx.Value(waitKey{}).(time.Duration); ok {
		ctx, stop = context.WithTimeout(ctx, d)
	}
	if !trace.IsEnabled() {
		return ctx, stop
	}
	region, end := trace.StartRegion(ctx, "muxlock: acquire"), stop
	return ctx, func() { region.End(); end() }
}

// withoutWait returns ctx without its budget.
func withoutWait(ctx context.Context) context.Context {
	if ctx.Value(waitKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, waitKey{}, nil)
}
