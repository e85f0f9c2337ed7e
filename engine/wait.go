package engine

import (
	"context"
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

// waiting begins an acquire. It returns a copy of ctx that ends with its budget, or ctx if it has none.
func waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	if d, ok := ctx.Value(waitKey{}).(time.Duration); ok {
		timed, cancel := context.WithTimeout(ctx, d)
		return timed, region(ctx, cancel)
	}
	return ctx, region(ctx, func() {})
}

// withoutWait returns ctx without its budget.
func withoutWait(ctx context.Context) context.Context {
	if ctx.Value(waitKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, waitKey{}, nil)
}
