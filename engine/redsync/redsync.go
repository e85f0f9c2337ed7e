package redsync

import (
	"fmt"
	"time"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
)

// Redsync makes mutexes that lock through one engine. It is safe for concurrent use, and
// takes the place of Redsync's type of that name.
type Redsync struct {
	engine  *engine.Engine
	masters map[string]int // by address: the place in Config.Masters, a RedisError's Node
	drift   float64        // Config.Drift
	shown   shown
}

// New takes an engine where Redsync's New takes a pool for each master. The caller still owns the engine, and
// closes it. Make one Redsync for each engine. Then a lock is free at once for waiters of this process when a
// mutex WithValue unlocks it. If it was locked through another Redsync, it is free for them when its lease
// ends.
func New(e *engine.Engine) *Redsync {
	r := &Redsync{engine: e, masters: make(map[string]int), shown: shown{locks: make(map[string]*engine.Lock)}}
	if e != nil {
		r.drift = inside.Of(e).Drift
		for i, m := range e.Stats().Masters {
			r.masters[m.Address] = i
		}
	}
	return r
}

// NewMutex returns a mutex for the lock name; it sends nothing. If an option is refused, or its value makes
// no sense, every call that would ask the masters fails. The error matches engine.ErrInvalid and names the
// option.
func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{
		redsync: r, name: name,
		expiry: 8 * time.Second, tries: 32, delay: meanDelay,
		timeoutFactor: 0.05,
	}
	for _, o := range options {
		o.Apply(m)
	}
	m.invalid = m.check()
	return m
}

// check returns what is wrong with the options.
func (m *Mutex) check() error {
	switch {
	case m.redsync.engine == nil:
		return invalid("New", "got no engine")
	case m.refused != nil:
		return m.refused
	case m.expiry < time.Millisecond:
		return invalid("WithExpiry", "%v is below 1ms", m.expiry)
	case m.tries < 1:
		return invalid("WithTries", "%d is not positive", m.tries)
	case m.delay < 0:
		return invalid("WithRetryDelay", "%v is negative", m.delay)
	case !(m.driftFactor >= 0 && m.driftFactor < 1): // not a number, too
		return invalid("WithDriftFactor", "%v is not between 0 and 1", m.driftFactor)
	case !(m.timeoutFactor > 0 && m.timeoutFactor <= 1):
		return invalid("WithTimeoutFactor", "%v is not above 0 and at most 1", m.timeoutFactor)
	}
	return nil
}

func invalid(option, format string, args ...any) error {
	return fmt.Errorf("%w: redsync: %s: %s", engine.ErrInvalid, option, fmt.Sprintf(format, args...))
}
