package rivals

import (
	"context"
	"errors"
	"time"

	"muxlock/bench"
)

// foreign is another library as a bench.Locker.
type foreign struct {
	// lock acquires a lock as bench.Locker's Acquire does, or tries once.
	lock    func(ctx context.Context, name string, ttl time.Duration, once bool) (bench.Held, error)
	refused func(error) bool // somebody else has the lock
	close   func()
}

func (f foreign) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return heldOr[bench.Held](ctx, f.refused)(f.lock(ctx, name, ttl, false))
}

func (f foreign) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return heldOr[bench.Held](ctx, f.refused)(f.lock(ctx, name, ttl, true))
}

func (f foreign) Close() error {
	f.close()
	return nil
}

// heldOr returns a lock, or the error as bench.Locker has it.
func heldOr[L bench.Held](ctx context.Context, refused func(error) bool) func(L, error) (bench.Held, error) {
	return func(lock L, err error) (bench.Held, error) {
		if err != nil {
			return nil, outcome(ctx, err, refused)
		}
		return lock, nil
	}
}

// outcome returns the error of an acquire as bench.Locker has it. Some libraries swallow the error of ctx.
func outcome(ctx context.Context, err error, refused func(error) bool) error {
	switch over := ctx.Err(); {
	case over != nil && !errors.Is(err, over):
		return errors.Join(over, err)
	case over == nil && refused(err):
		return bench.ErrRefused
	}
	return err
}
