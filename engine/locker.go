package engine

import (
	"context"
	"time"

	"muxlock/internal/testhook"
)

// Locker is what most services need of an *Engine. One that takes a Locker can be given any
// other implementation, too; for unit tests with real locks and no servers see package
// enginetest.
type Locker interface {
	Acquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error)
	TryAcquire(ctx context.Context, name string, ttl time.Duration) (*Lock, error)
	Do(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error
	Ready(ctx context.Context) error
	Close() error
}

var _ Locker = (*Engine)(nil)

func init() {
	testhook.Held = func(engine any, name string) (any, bool) {
		e := engine.(*Engine)
		s := e.names.shard(e.cfg.Prefix + name)
		s.mu.Lock()
		defer s.unlock()
		if n := s.states[e.cfg.Prefix+name]; n != nil && n.lease != nil && n.lease.holder != nil {
			return n.lease.holder, true
		}
		return nil, false
	}
}
