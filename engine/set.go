package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"muxlock/internal/clock"
)

// A Set is the locks of several names, acquired together. Each is a lease by itself, with a fence of its own. A Set is
// valid while all its locks are, and the loss of one is the loss of the Set: the others are not renewed any more, and stay
// locked until their leases end or Release. A Set is safe for concurrent use. A nil Set is not held, like a nil Lock.
type Set struct {
	locks   []*Lock // fixed, in the caller's order
	once    sync.Once
	context context.Context // of Done; made by the first Done
}

// noSet stands for a nil Set.
var noSet = &Set{locks: []*Lock{noLock}}

// Locks returns the lock of each name, in the caller's order: for its Fence or Reveal. A Release of one of them ends
// the Set.
func (s *Set) Locks() []*Lock { return slices.Clone(cmp.Or(s, &Set{}).locks) }

// Format prints the number of names, and the first name, for every verb; never a token.
func (s *Set) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "set of %d locks, of %q first", len(s.locks), s.locks[0].Name())
}

// Until returns the earliest end of validity of the locks, by the local clock. No I/O.
func (s *Set) Until() time.Time {
	return slices.MinFunc(cmp.Or(s, noSet).locks, func(a, b *Lock) int { return a.Until().Compare(b.Until()) }).Until()
}

// HeldOn is Lock.HeldOn of the name that the fewest masters have.
func (s *Set) HeldOn() (masters, total int) {
	return slices.MinFunc(cmp.Or(s, noSet).locks, func(a, b *Lock) int { return cmp.Compare(a.lease.heldOn.Load(), b.lease.heldOn.Load()) }).HeldOn()
}

// Valid reports whether all locks can be relied on at this moment, as Lock.Valid does. No I/O.
func (s *Set) Valid() bool { return s.Err() == nil }

// Err returns nil while all locks are valid, else the Lock.Err of a lock that is not, with its name. No I/O.
func (s *Set) Err() error { return s.first(func(i int) error { return s.locks[i].Err() }) }

// first returns the first error of the locks, with the name.
func (s *Set) first(of func(i int) error) error {
	if s == nil {
		return ErrNotHeld
	}
	for i, l := range s.locks {
		if err := of(i); err != nil {
			return ofName(l.Name(), err)
		}
	}
	return nil
}

// Done returns a channel that is closed when the Set is released or one lock is lost.
func (s *Set) Done() <-chan struct{} {
	s = cmp.Or(s, noSet)
	s.once.Do(func() {
		s.context, _ = s.Context(context.Background())
		context.AfterFunc(s.context, s.stopRenewals)
	})
	return s.context.Done()
}

// Context is Lock.Context of all locks: it ends when the Set is released or one lock is lost.
func (s *Set) Context(parent context.Context) (context.Context, context.CancelFunc) {
	return contextOf(parent, cmp.Or(s, noSet).locks...)
}

// KeepAlive is Lock.KeepAlive of all locks, until one is lost. Their renewals go out together.
func (s *Set) KeepAlive(max time.Duration) error {
	s.Done()
	err := s.first(func(i int) error { return s.locks[i].KeepAlive(max) })
	if !s.Valid() { // one was lost before all were kept alive
		s.stopRenewals()
	}
	return err
}

// WarnBefore is Lock.WarnBefore of all locks: fn runs for each lock with no more than left of validity.
func (s *Set) WarnBefore(left time.Duration, fn func()) error {
	return s.first(func(i int) error { return s.locks[i].WarnBefore(left, fn) })
}

// stopRenewals ends the renewals of the locks that are still held.
func (s *Set) stopRenewals() {
	for _, l := range cmp.Or(s, noSet).locks {
		l.keepNoLonger()
	}
}

// Extend is Lock.Extend of all locks, side by side. It returns nil if all were extended, else the error of
// one that was not, with its name; the others may have been extended.
func (s *Set) Extend(ctx context.Context, ttl time.Duration) error {
	if err := s.Err(); err != nil {
		return err
	}
	ttl, err := s.locks[0].lease.e.cfg.lease(ttl)
	if err != nil {
		return err
	}
	begun, wanted := make([]*extension, len(s.locks)), clock.Now().Add(ttl)
	for i, l := range s.locks {
		begun[i], _ = l.lease.beginExtension(l, ttl) // if it is not held any more, the next call says so
	}
	errs := make([]error, len(s.locks))
	for i, l := range s.locks {
		errs[i] = l.extended(l.lease.extendUntil(ctx, l, begun[i], ttl, wanted), ctx)
	}
	return s.first(func(i int) error { return errs[i] })
}

// Release gives all names up, as Lock.Release does, side by side. It returns nil if all were handed over or
// deleted, else the error of one that was not, with its name.
func (s *Set) Release(ctx context.Context) error {
	if s == nil {
		return ErrNotHeld
	}
	errs := s.locks[0].lease.e.ReleaseMany(ctx, s.locks)
	if errs == nil {
		return nil
	}
	return s.first(func(i int) error { return errs[i] })
}

// AcquireAll acquires all names, or none, for ttl (0 = Config.TTL). It waits until all are free at once, and holds none of
// them meanwhile: Sets that overlap never deadlock, in any order of names.
//
// Where this process holds a name, AcquireAll queues for it. At its turn it asks for all names or, if another one is busy,
// leaves the turn to the next waiter. A lock is never handed over to a Set, so its turns cost other waiters here
// hand-overs: hold many busy names for a short time. The limit is 1000 names: a master serves nobody else while it takes
// them, some microseconds each.
//
// Errors: those of Acquire, with the busy name; ErrDenied has no name. ErrInvalid names the argument: no names, too many,
// or a name given twice.
func (e *Engine) AcquireAll(ctx context.Context, names []string, ttl time.Duration) (*Set, error) {
	return setOf(e.acquireAll(ctx, names, ttl, e.cfg.MaxAttempts, e.cfg.WaitWhenFull))
}

// TryAcquireAll is AcquireAll with one attempt. While somebody in this engine holds one of the names or waits for it, it
// returns ErrTaken without asking the masters.
func (e *Engine) TryAcquireAll(ctx context.Context, names []string, ttl time.Duration) (*Set, error) {
	return setOf(e.acquireAll(ctx, names, ttl, 1, false))
}

func setOf(locks []*Lock, err error) (*Set, error) {
	if err != nil {
		return nil, err
	}
	return &Set{locks: locks}, nil
}

// DoAll is Do with AcquireAll. The ctx of fn ends when one lock is lost.
func (e *Engine) DoAll(ctx context.Context, names []string, ttl time.Duration, fn func(context.Context, *Set) error) error {
	if fn == nil {
		return invalid("fn", "is nil")
	}
	s, err := e.AcquireAll(ctx, names, ttl)
	if err != nil {
		return err
	}
	return hold(&within{Context: ctx, locks: s.locks, set: true}, s, func(ctx context.Context) error { return fn(ctx, s) })
}
