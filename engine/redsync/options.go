package redsync

import "time"

// An Option configures a mutex. The package's documentation has a table of them.
type Option interface {
	Apply(*Mutex)
}

// OptionFunc is a function that is an Option.
type OptionFunc func(*Mutex)

// Apply calls f.
func (f OptionFunc) Apply(m *Mutex) { f(m) }

// A DelayFunc returns the delay after so many tries: tries is 1 before the second try.
type DelayFunc func(tries int) time.Duration

// meanDelay is the mean of the delays that Redsync draws by default, 50 to 250 ms.
const meanDelay = 150 * time.Millisecond

// WithExpiry sets the lease of the lock, for Lock, TryLock and Extend. Default 8 s. Calls
// return engine.ErrInvalid if it is below 1 ms, above the engine's Config.MaxTTL, or too
// short to leave validity after Config.MasterTimeout.
func WithExpiry(expiry time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.expiry = expiry })
}

// WithTries bounds how long Lock waits: for the delays between so many tries. Default 32; 1 makes Lock the
// same as TryLock.
func WithTries(tries int) Option {
	return OptionFunc(func(m *Mutex) { m.tries = tries })
}

// WithRetryDelay sets the delay between two tries. Waiters are woken, so it does not delay when Lock finds
// the lock free. It bounds how long Lock waits. Default 150 ms, the mean of Redsync's.
func WithRetryDelay(delay time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.delay, m.delayFunc = delay, nil })
}

// WithRetryDelayFunc is WithRetryDelay with a delay for each try. f is called while Lock
// waits, one call at a time, in a goroutine of its own.
func WithRetryDelayFunc(f DelayFunc) Option {
	return OptionFunc(func(m *Mutex) {
		if f == nil {
			m.refused = invalid("WithRetryDelayFunc", "the function is nil")
		}
		m.delayFunc = f
	})
}

// WithDriftFactor makes Until earlier if factor is above the engine's Config.Drift: by the excess, times the
// expiry. The engine has already subtracted its Drift, for all locks.
func WithDriftFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) { m.driftFactor = factor })
}

// WithTimeoutFactor bounds how long the last try of a Lock may take: factor times the expiry. Default
// 0.05. How long one master may take is the engine's Config.MasterTimeout.
func WithTimeoutFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) { m.timeoutFactor = factor })
}

// WithValue lets the mutex unlock and extend another mutex's lock, here or in another process. value is that
// mutex's Value. A Lock or TryLock that succeeds forgets it.
func WithValue(value string) Option {
	return OptionFunc(func(m *Mutex) { m.value = value })
}

// WithSetNXOnExtend makes Extend take a lost lock again, if it is free: as a new lock, with a new Value and a
// new fence. Somebody else may have had it in between.
func WithSetNXOnExtend() Option {
	return OptionFunc(func(m *Mutex) { m.relock = true })
}

// WithGenValueFunc is refused: each call of the mutex returns engine.ErrInvalid. A value may be used for one
// attempt only. If it were used for two, a belated release of the first would delete the key of the second.
// So the engine draws the values. To see who holds a lock set the engine's Config.Holder.
func WithGenValueFunc(func() (string, error)) Option {
	return OptionFunc(func(m *Mutex) {
		m.refused = invalid("WithGenValueFunc", "the engine draws a value for each attempt; use Config.Holder to say who holds a lock")
	})
}

// WithFailFast has no effect: every call returns once a quorum has decided it. The rest of it is undone all
// the same.
func WithFailFast(bool) Option { return OptionFunc(func(*Mutex) {}) }

// WithShufflePools has no effect: all masters are asked at the same time.
func WithShufflePools(bool) Option { return OptionFunc(func(*Mutex) {}) }
