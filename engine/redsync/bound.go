package redsync

import (
	"context"
	"math"
	"sync"
	"time"
)

// bound returns a copy of ctx that ends when so many tries of Redsync's would be over: after
// the delays between them, and what one of them may take.
func (m *Mutex) bound(ctx context.Context, tries int) (context.Context, context.CancelFunc) {
	try := time.Duration(float64(m.expiry) * m.timeoutFactor)
	if m.delayFunc == nil || tries == 1 {
		return m.redsync.timeouts.bound(ctx, try+times(m.delay, tries-1))
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer cancel()
		m.await(ctx, try, tries)
	}()
	return ctx, func() {
		cancel()
		<-over // no call of the delay function overlaps the next Lock's
	}
}

// await returns after the tries, or when ctx ends. The delay function is asked for one delay
// after the other, as there may be very many.
func (m *Mutex) await(ctx context.Context, try time.Duration, tries int) {
	timer := time.NewTimer(try)
	defer timer.Stop()
	for i := 1; ; i++ {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if i == tries {
			return
		}
		timer.Reset(m.delayFunc(i))
	}
}

// times is n times d, at most what is as good as for ever.
func times(d time.Duration, n int) time.Duration {
	const longest = math.MaxInt64 / 4
	if d > 0 && int64(n) > int64(longest/d) {
		return longest
	}
	return d * time.Duration(n)
}

// timeouts has contexts that are used again while their timer runs: a timer for each Lock
// would cost a tenth of a lock.
type timeouts struct{ pool sync.Pool }

// bound is context.WithTimeout, for up to an eighth longer. The ctx must not be used after the
// CancelFunc was called: the engine keeps none.
func (t *timeouts) bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	now := time.Now()
	if end, ok := ctx.Deadline(); ok && end.Sub(now) <= d {
		return ctx, func() {}
	}
	if ctx.Done() != nil {
		return context.WithTimeout(ctx, d)
	}
	c, _ := t.pool.Get().(*timeout)
	switch longest := d + d/8; {
	case c != nil && c.fits(now, d, longest):
	case c != nil && c.timer.Stop():
		c.at = now.Add(longest)
		c.timer.Reset(longest)
	default: // none, or its time has passed
		c = &timeout{over: make(chan struct{}), at: now.Add(longest)}
		c.timer = time.AfterFunc(longest, func() { close(c.over) })
		c.end = func() { t.pool.Put(c) }
	}
	c.Context = ctx
	return c, c.end
}

// A timeout is a context that ends with its timer, which runs on between two uses.
type timeout struct {
	context.Context // the caller's, which does not end
	at              time.Time
	timer           *time.Timer
	over            chan struct{} // closed by timer
	end             context.CancelFunc
}

func (c *timeout) fits(now time.Time, least, longest time.Duration) bool {
	left := c.at.Sub(now)
	return least <= left && left <= longest
}

func (c *timeout) Deadline() (time.Time, bool) { return c.at, true }
func (c *timeout) Done() <-chan struct{}       { return c.over }

func (c *timeout) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
