package redsync

import (
	"context"
	"math"
	"time"
)

// bound returns a copy of ctx that ends when Redsync's tries after the first would be over: after the delays
// before them, and the time of one try.
func (m *Mutex) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	try := time.Duration(float64(m.expiry) * m.timeoutFactor)
	if m.delayFunc == nil {
		return context.WithTimeout(ctx, try+times(m.delay, m.tries-1))
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer cancel()
		m.await(ctx, try)
	}()
	return ctx, func() {
		cancel()
		<-over // no call of the delay function overlaps the next Lock's
	}
}

// await returns after the tries, or when ctx ends. It asks the delay function for one delay after the other,
// as there may be very many.
func (m *Mutex) await(ctx context.Context, try time.Duration) {
	for i := 1; i < m.tries && pause(ctx, m.delayFunc(i)); i++ {
	}
	pause(ctx, try)
}

// pause reports whether d has passed and ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// times is n times d, but at most about 73 years.
func times(d time.Duration, n int) time.Duration {
	const longest = math.MaxInt64 / 4
	if int64(n) > int64(longest/max(d, 1)) { // without a delay, too
		return longest
	}
	return d * time.Duration(n)
}
