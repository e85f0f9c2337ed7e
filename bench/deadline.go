package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// waitCtx limits each Acquire of one worker without a context per call: arm starts it again
// until its time runs out once. Its Done channel comes from a context.WithCancelCause, so
// a context derived from it needs no goroutine.
type waitCtx struct {
	context.Context
	limit    time.Duration
	timer    *time.Timer
	base     time.Time
	deadline atomic.Int64 // ns after base; a locker's background work may read it late
}

func newWaitCtx(parent context.Context, base time.Time, limit time.Duration) *waitCtx {
	inner, cancel := context.WithCancelCause(parent)
	c := &waitCtx{Context: inner, limit: limit, base: base}
	c.timer = time.AfterFunc(time.Hour, func() { cancel(context.DeadlineExceeded) })
	c.timer.Stop()
	return c
}

// arm starts the time of a call at now.
func (c *waitCtx) arm(now int64) {
	c.deadline.Store(now + int64(c.limit))
	c.timer.Reset(c.limit)
}

// disarm stops the time. It returns false when the time had run out: c is then spent.
func (c *waitCtx) disarm() bool { return c.timer.Stop() }

// Deadline returns the deadline of the call under way.
func (c *waitCtx) Deadline() (time.Time, bool) {
	return c.base.Add(time.Duration(c.deadline.Load())), true
}

// Err returns context.DeadlineExceeded when the time ran out.
func (c *waitCtx) Err() error {
	if c.Context.Err() == nil {
		return nil
	}
	return context.Cause(c.Context) // takes a mutex
}
