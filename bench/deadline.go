package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// waitCtx limits one Acquire after another of one worker to a time each, without
// a context per call: the same context is armed again as long as it has not run
// out. Its Done channel is that of a context.WithCancelCause, so contexts that a
// locker derives from it need no goroutine.
type waitCtx struct {
	context.Context
	limit    time.Duration
	timer    *time.Timer
	base     time.Time
	deadline atomic.Int64 // ns after base; a locker's leftovers may read it late
}

func newWaitCtx(parent context.Context, base time.Time, limit time.Duration) *waitCtx {
	inner, cancel := context.WithCancelCause(parent)
	c := &waitCtx{Context: inner, limit: limit, base: base}
	c.timer = time.AfterFunc(time.Hour, func() { cancel(context.DeadlineExceeded) })
	c.timer.Stop()
	return c
}

// arm begins a call's time at now.
func (c *waitCtx) arm(now int64) {
	c.deadline.Store(now + int64(c.limit))
	c.timer.Reset(c.limit)
}

// disarm ends it; false when the time had run out: the context is then spent.
func (c *waitCtx) disarm() bool { return c.timer.Stop() }

// Deadline is that of the call under way.
func (c *waitCtx) Deadline() (time.Time, bool) {
	return c.base.Add(time.Duration(c.deadline.Load())), true
}

// Err is context.DeadlineExceeded when the time ran out.
func (c *waitCtx) Err() error {
	if c.Context.Err() == nil {
		return nil
	}
	return context.Cause(c.Context) // which takes a mutex
}
