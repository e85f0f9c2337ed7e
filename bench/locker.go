package bench

import (
	"context"
	"errors"
	"time"
)

// ErrRefused is returned by a Locker when somebody else holds the lock. Every
// other error but a ctx error counts as a failure of the lock itself.
var ErrRefused = errors.New("bench: lock refused")

// A Locker is one way of locking: the engine, a rival library, a bare command.
// It is shared by all workers and must be safe for concurrent use.
type Locker interface {
	// Acquire waits, with the retry policy that the library's users get, until
	// the lock is held or ctx ends.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error)
	// TryAcquire makes one attempt.
	TryAcquire(ctx context.Context, name string, ttl time.Duration) (Held, error)
	Close() error
}

// Held is one acquired lock.
type Held interface {
	// Until is the end of the validity time by the local clock; the audit does
	// not call a lock overlapped after it. The zero time is a lock that never
	// ends by itself; a time in the past claims nothing, and is not audited.
	Until() time.Time
	Release(ctx context.Context) error
}

// Extender is a Held whose lease can be prolonged to ttl from now; op extend needs it.
type Extender interface {
	Extend(ctx context.Context, ttl time.Duration) error
}

// Keeper is a Held that can renew itself; op hold needs it.
type Keeper interface {
	// KeepAlive renews in the background until Release, loss or max.
	KeepAlive(max time.Duration) error
	// Done is closed when the lock is released or lost.
	Done() <-chan struct{}
}

// Counter is a Locker that counts what it did, for all its callers together.
type Counter interface {
	Counts() Counts
}

// Counts is since the Locker was opened.
type Counts struct {
	Rounds, Commands uint64 // where the commands of many callers are sent together
	LateQuorum       uint64 // attempts whose quorum came too late to leave any validity; it may have tried again by itself since
	FenceSecondTrips uint64 // attempts that needed a second round trip to the masters for their fencing token
}

func countsOf(l Locker) Counts {
	if c, ok := l.(Counter); ok {
		return c.Counts()
	}
	return Counts{}
}

// Allower is a Locker that gives up a part of each lease because clocks differ: what
// Until leaves of the ttl besides is the time since the winning attempt began.
type Allower interface {
	Allowance(ttl time.Duration) time.Duration
}

// allowance is below 0 where the locker does not tell.
func allowance(l Locker, ttl time.Duration) int64 {
	if a, ok := l.(Allower); ok {
		return int64(a.Allowance(ttl))
	}
	return -1
}

// Fencer is a Held that may have a fencing token; 0 is none. It is read once, when the lock
// was acquired, and is larger than that of the hold of the same name before.
type Fencer interface {
	Fence() uint64
}

func fenceOf(h Held) uint64 {
	if f, ok := h.(Fencer); ok {
		return f.Fence()
	}
	return 0
}
