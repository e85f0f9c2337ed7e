package redsync

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"muxlock/engine"
)

// A Mutex locks one name, any number of times in turn. Its methods have the names and results of Redsync's,
// and may be called by several goroutines.
type Mutex struct {
	redsync *Redsync
	name    string

	// Set by options.
	expiry        time.Duration
	tries         int
	delay         time.Duration
	delayFunc     DelayFunc // in place of delay; nil: none
	driftFactor   float64
	timeoutFactor float64
	value         string // of the lock of another mutex
	relock        bool
	refused       error // an option that is refused

	invalid error                       // what is wrong with the options
	lock    atomic.Pointer[engine.Lock] // the last one; nil: there was none
}

// Name returns the mutex's name.
func (m *Mutex) Name() string { return m.name }

// EngineLock returns the engine's lock, for what Redsync does not have: Fence, KeepAlive, Done, Context,
// HeldOn. It is the lock of the last Lock, TryLock, Extend or Unlock, and nil before.
func (m *Mutex) EngineLock() *engine.Lock { return m.lock.Load() }

// Value returns the value of the lock's key, for a mutex WithValue elsewhere. Before the lock was acquired it is
// that of WithValue, if any. After a hand-over within the process it is empty. A lock whose value was asked for is not handed over:
// ask only when it is needed.
func (m *Mutex) Value() string {
	if lock := m.lock.Load(); lock != nil {
		value := lock.Reveal()
		m.redsync.shown.add(value, lock)
		return value
	}
	return m.value
}

// Until returns when the validity of the last lock ends, or ended. After Unlock it has no meaning. It is the
// zero time before there was a lock. No I/O.
func (m *Mutex) Until() time.Time {
	if lock := m.lock.Load(); lock != nil {
		return m.until(lock)
	}
	return time.Time{}
}

// until is the engine's Until, less what WithDriftFactor asks for beyond the engine's own drift.
func (m *Mutex) until(lock *engine.Lock) time.Time {
	return lock.Until().Add(-time.Duration(max(0, m.driftFactor-m.redsync.drift) * float64(m.expiry)))
}

// over reports whether until has passed for a lock that the engine still considers valid.
func (m *Mutex) over(lock *engine.Lock) bool {
	return m.driftFactor > m.redsync.drift && !time.Now().Before(m.until(lock))
}

// Lock is LockContext without an end of ctx.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// LockContext waits for the lock until ctx ends, at most for as long as Redsync's tries take: the delays
// between WithTries of them, and the time that one may take. Waiters are woken when the lock is free. Those
// of one engine get it in order of arrival.
//
// Errors: *ErrTaken, *RedisError and *ErrNodeTaken, ErrFailed joined to ctx's error, and the engine's beside
// them; engine.ErrInvalid.
func (m *Mutex) LockContext(ctx context.Context) error {
	err := m.TryLockContext(ctx)
	if err == nil || m.tries == 1 || m.invalid != nil {
		return err
	}
	ctx = cmp.Or(ctx, context.Background())
	bounded, cancel := m.bound(ctx) // not for the first try: it costs a fifth of a lock
	defer cancel()
	lock, err := m.redsync.engine.Acquire(bounded, m.name, m.expiry)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return m.redsync.spent(err)
	}
	return m.take(ctx, lock, err)
}

// TryLock is TryLockContext without an end of ctx.
func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

// TryLockContext asks the masters once, within about twice the engine's Config.MasterTimeout. While another
// mutex of the engine holds the lock or waits for it, TryLockContext does not ask them. Errors are those of
// LockContext.
func (m *Mutex) TryLockContext(ctx context.Context) error {
	if m.invalid != nil {
		return m.invalid
	}
	ctx = cmp.Or(ctx, context.Background())
	lock, err := m.redsync.engine.TryAcquire(ctx, m.name, m.expiry)
	return m.take(ctx, lock, err)
}

// take gives the mutex the lock that the engine returned.
func (m *Mutex) take(ctx context.Context, lock *engine.Lock, err error) error {
	switch {
	case err == nil && !m.over(lock):
		m.lock.Store(lock)
		return nil
	case err == nil:
		_ = lock.Release(ctx)
		return m.redsync.fail(engine.ErrExpired, ErrFailed)
	case ctx.Err() != nil || errors.Is(err, engine.ErrExpired):
		return m.redsync.fail(err, ErrFailed)
	}
	return m.redsync.fail(err, nil)
}

// Unlock is UnlockContext without an end of ctx.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext releases the lock. It returns true once a quorum confirmed that, or the next one in this
// process has the lock. ctx ends the wait, and not what is sent. Only a mutex WithValue of another process's
// lock sends nothing if ctx has ended before: it has to adopt the lock first.
//
// Errors: ErrLockAlreadyExpired if the lock was gone or another's, or the mutex was never locked; *RedisError
// if too few masters answered (they are sent the release again); engine.ErrInvalid.
func (m *Mutex) UnlockContext(ctx context.Context) (bool, error) {
	ctx = cmp.Or(ctx, context.Background())
	lock, err := m.held(ctx)
	if err == nil {
		err = lock.Release(ctx)
	}
	switch {
	case err == nil:
		return true, nil
	case gone(err):
		return false, m.redsync.fail(err, ErrLockAlreadyExpired)
	}
	return false, m.redsync.fail(err, nil)
}

// Extend is ExtendContext without an end of ctx.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext lets the lock live for the mutex's expiry from now on. It never makes a lease shorter. A lost
// lock stays lost, except WithSetNXOnExtend.
//
// Errors: *ErrTaken if the lock was lost, unlocked or never locked; ErrExtendFailed if it was lost because
// the answers came too late; *RedisError if too few masters answered, and the old Until stands;
// engine.ErrInvalid.
func (m *Mutex) ExtendContext(ctx context.Context) (bool, error) {
	ctx = cmp.Or(ctx, context.Background())
	lock, err := m.held(ctx)
	switch {
	case err != nil && m.relock && m.value != "" && gone(err): // that of WithValue
		err = m.TryLockContext(ctx)
		return err == nil, err
	case err != nil:
		return m.extended(err, false)
	}
	err = lock.Err()
	late := err == nil
	if err == nil {
		if err = lock.Extend(ctx, m.expiry); err == nil && m.over(lock) {
			err = engine.ErrExpired
		}
	}
	if m.relock && errors.Is(err, engine.ErrLost) {
		_ = lock.Release(ctx) // its remaining keys would refuse us
		err = m.TryLockContext(ctx)
		return err == nil, err
	}
	return m.extended(err, late)
}

func (m *Mutex) extended(err error, late bool) (bool, error) {
	switch {
	case err == nil:
		return true, nil
	case late && errors.Is(err, engine.ErrExpired):
		return false, m.redsync.fail(err, ErrExtendFailed)
	case gone(err):
		return false, m.redsync.fail(err, &ErrTaken{})
	}
	return false, m.redsync.fail(err, nil)
}

// Valid is ValidContext without an end of ctx.
func (m *Mutex) Valid() (bool, error) { return m.ValidContext(context.Background()) }

// ValidContext reports whether the lock is held and Until has not passed. Only for a mutex WithValue it asks
// the masters, once, which extends the lock. The error of a lock that is not held is Extend's.
//
// Deprecated: by Redsync too. Use Until, or Done and Err of EngineLock.
func (m *Mutex) ValidContext(ctx context.Context) (bool, error) {
	lock, err := m.held(cmp.Or(ctx, context.Background()))
	if err == nil {
		err = lock.Err()
	}
	if err == nil && m.over(lock) {
		err = engine.ErrExpired
	}
	return m.extended(err, false)
}

// held returns the last lock, or that of WithValue: the holder's own if it is in this process, else one that
// the engine adopts.
func (m *Mutex) held(ctx context.Context) (*engine.Lock, error) {
	lock := m.lock.Load()
	switch {
	case m.invalid != nil:
		return nil, m.invalid
	case lock != nil:
		return lock, nil
	case m.value == "":
		return nil, engine.ErrNotHeld
	}
	lock, err := m.redsync.shown.find(m.value, m.name), error(nil)
	if lock == nil {
		lock, err = m.redsync.engine.Adopt(ctx, m.name, m.value, m.expiry)
	}
	if err == nil {
		m.lock.Store(lock)
	}
	return lock, err
}

// gone reports whether a call found that the mutex no longer has the lock.
func gone(err error) bool {
	return errors.Is(err, engine.ErrNotHeld) || errors.Is(err, engine.ErrExpired)
}
