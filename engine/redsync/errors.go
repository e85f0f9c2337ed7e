package redsync

import (
	"errors"
	"fmt"
	"slices"

	"muxlock/engine"
)

// Errors that errors.Is finds where Redsync returns them. The engine's errors, with the votes
// and the masters' causes, are found beside them.
var (
	// ErrFailed is returned by Lock and TryLock when ctx ended while they waited, or when the
	// quorum came too late to leave validity.
	ErrFailed = errors.New("redsync: lock not acquired")
	// ErrExtendFailed is returned by Extend when the answers came too late to leave validity.
	ErrExtendFailed = errors.New("redsync: lock not extended in time")
	// ErrLockAlreadyExpired is returned by Unlock when the lock was gone, or another's.
	ErrLockAlreadyExpired = errors.New("redsync: lock had gone before it was unlocked")
)

// ErrTaken is found by errors.As, as an *ErrTaken: somebody else has the lock, or Extend finds that this
// mutex no longer has it. Nodes is nil: the engine counts votes, and does not wait for those of all masters.
type ErrTaken struct{ Nodes []int }

func (e ErrTaken) Error() string { return "redsync: lock is taken" }

// ErrNodeTaken is found by errors.As, as an *ErrNodeTaken, when too few masters answered and some of them
// refused. Node is -1: it is not known which.
type ErrNodeTaken struct{ Node int }

func (e ErrNodeTaken) Error() string { return "redsync: lock is taken on some masters" }

// RedisError is found by errors.As, as a *RedisError: why one master gave no vote. Node is its
// place in Config.Masters.
type RedisError struct {
	Node int
	Err  error
}

func (e RedisError) Error() string { return fmt.Sprintf("redsync: master %d: %v", e.Node, e.Err) }

// Unwrap returns Err.
func (e RedisError) Unwrap() error { return e.Err }

// failure is an engine's error that also matches Redsync's errors.
type failure struct {
	error         // the engine's
	all   []error // it, and Redsync's
}

func (f *failure) Unwrap() []error { return f.all }

// fail returns the engine's error with Redsync's beside it: kind or, if kind is nil, the error that the
// masters' votes mean.
func (r *Redsync) fail(err, kind error) error {
	f := &failure{error: err, all: []error{err}}
	attempt, away := new(engine.AttemptError), new(engine.NotReadyError)
	switch {
	case kind != nil:
		f.all = append(f.all, kind)
	case errors.Is(err, engine.ErrTaken):
		f.all = append(f.all, &ErrTaken{})
	case errors.As(err, &attempt), errors.As(err, &away):
		for _, c := range slices.Concat(attempt.Causes, away.Causes) {
			f.all = append(f.all, &RedisError{Node: r.masters[c.Master], Err: c.Err})
		}
		if attempt.Refused > 0 {
			f.all = append(f.all, &ErrNodeTaken{Node: -1})
		}
	}
	return f
}

// spent returns the error of an acquire that the mutex's bound ended: how the last attempt failed, without
// the error of the bound's own ctx. There was none if another of this process contended.
func (r *Redsync) spent(err error) error {
	attempt, away := (*engine.AttemptError)(nil), (*engine.NotReadyError)(nil)
	switch {
	case errors.As(err, &attempt):
		return r.fail(attempt, nil)
	case errors.Is(err, engine.ErrTaken):
		return r.fail(fmt.Errorf("%w: %w", engine.ErrTaken, engine.ErrNotAcquired), nil)
	case errors.As(err, &away):
		return r.fail(fmt.Errorf("%w: %w: %w", engine.ErrNoQuorum, engine.ErrNotAcquired, away), nil)
	}
	return r.fail(err, ErrFailed) // the first attempt was not answered
}
