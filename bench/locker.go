package bench

import (
	"context"
	"errors"
	"time"
)

// ErrRefused is returned by a Locker when somebody else holds the lock. Any other error
// except a ctx error counts as a failure of the lock itself.
var ErrRefused = errors.New("bench: lock refused")

// A Locker is one way of locking: the engine, a rival library, a bare command. All workers
// share it, so it must be safe for concurrent use.
type Locker interface {
	// Acquire waits until the lock is held or ctx ends. It retries as the library does by
	// default.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error)
	// TryAcquire makes one attempt.
	TryAcquire(ctx context.Context, name string, ttl time.Duration) (Held, error)
	Close() error
}

// Held is one acquired lock.
type Held interface {
	// Until is the end of the validity by the local clock; the audit ends the hold there.
	// The zero time means a lock that never ends by itself. A time before the acquire makes
	// no claim, and is not audited.
	Until() time.Time
	Release(ctx context.Context) error
}

// A SharedLocker is a Locker with names that several may hold at once; ops read-write and permit need it.
type SharedLocker interface {
	// AcquireShared is Acquire for a reader: readers hold a name together, and nobody holds it by Acquire meanwhile.
	AcquireShared(ctx context.Context, name string, ttl time.Duration) (Held, error)
	// AcquirePermit is Acquire of a name that at most limit callers hold at once. All callers give the same limit.
	AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (Held, error)
}

// A SeveralLocker is a Locker that takes several names in one call; ops all and many need it.
type SeveralLocker interface {
	// AcquireAll waits until all names are held at once, or ctx ends. It retries as the library does by default.
	AcquireAll(ctx context.Context, names []string, ttl time.Duration) (Held, error)
	// AcquireMany makes one attempt for each name. got lists the indexes of the names that held has. AcquireMany
	// returns ErrRefused if others hold all names. If an attempt fails otherwise, it returns that error, beside held if
	// it got other names.
	AcquireMany(ctx context.Context, names []string, ttl time.Duration) (held Held, got []int, err error)
}

// Extender is a Held whose lease can be extended to ttl from now; extend in a mix needs it.
type Extender interface {
	Extend(ctx context.Context, ttl time.Duration) error
}

// Keeper is a Held that can renew itself; op hold needs it.
type Keeper interface {
	// KeepAlive renews the lock in the background until it is released or lost, or until
	// max is over.
	KeepAlive(max time.Duration) error
	// Done is closed when the lock is released or lost.
	Done() <-chan struct{}
}

// Counter is a Locker with counters for all its callers together.
type Counter interface {
	Counts() Counts
}

// Counts counts from when the Locker was opened.
type Counts struct {
	Rounds, Commands uint64 // batches to the masters, and the commands in them; 0: no batching
	LateQuorum       uint64 // attempts whose quorum came too late to leave any validity, retried or not
	FenceSecondTrips uint64 // attempts that needed a second round trip to the masters for their fencing token
}

// since returns what was counted after d.
func (c Counts) since(d Counts) Counts {
	return Counts{c.Rounds - d.Rounds, c.Commands - d.Commands, c.LateQuorum - d.LateQuorum, c.FenceSecondTrips - d.FenceSecondTrips}
}

func countsOf(l Locker) Counts {
	if c, ok := l.(Counter); ok {
		return c.Counts()
	}
	return Counts{}
}

// Allower is a Locker that subtracts an allowance for clock drift from each lease. The time
// since the winning attempt began, the allowance and the validity left add up to the ttl.
type Allower interface {
	Allowance(ttl time.Duration) time.Duration
}

// allowance returns the allowance for drift, in ns; below 0 if l is no Allower.
func allowance(l Locker, ttl time.Duration) int64 {
	if a, ok := l.(Allower); ok {
		return int64(a.Allowance(ttl))
	}
	return -1
}

// Fencer is a Held that may have a fencing token; 0 is none. The token is read once, when
// the lock was acquired. It is larger than the token of the previous hold of the same name, or of
// the same permit of the name. Slot is the number of the permit: 0 to the limit less 1.
type Fencer interface {
	Fence() uint64
	Slot() int
}

// A ManyFencer is a Held of several names that may have a fencing token for each; 0 is none.
type ManyFencer interface{ FenceOf(i int) uint64 }

func fenceOf(h Held) uint64 {
	if f, ok := h.(Fencer); ok {
		return f.Fence()
	}
	return 0
}
