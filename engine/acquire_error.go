package engine

import (
	"context"
	"errors"
	"fmt"

	"muxlock/internal/clock"
	"muxlock/internal/oneline"
)

// The error of an acquire that has no lock, above all of one whose ctx ended. The votes of an attempt: errors.go.

var (
	// errTakenHere refuses a TryAcquire without asking the masters.
	errTakenHere = fmt.Errorf("%w, or waited for, in this process: %w", ErrTaken, ErrNotAcquired)
	// errUnanswered is for an acquire whose ctx ended before any attempt at the name was decided.
	errUnanswered = fmt.Errorf("%w answered in time: %w", ErrNoQuorum, ErrNotAcquired)
)

// failed returns the error of an acquire that has no lock.
func (c *contender) failed(why error) error {
	if c.tries.waits() {
		now := clock.Now()
		c.e.names.warm(c.name, heat{waited: now.Sub(c.turn.called)}, now)
	}
	why = c.e.unlessKnown(c.name, errUnanswered, why)
	if c.nested != nil && errors.Is(why, ErrTaken) && c.nested.Valid() {
		why = oneline.Join(why, errNested)
	}
	return c.e.record.notAcquired(c.e.cfg.nameOf(c.name), c.turn.called, c.tries.made, why)
}

// unlessKnown returns the error of an acquire whose ctx ended: ctx's error, joined to why there is no lock.
// The reason is the last one known for the name, else the masters' state (with the masters that are away),
// else otherwise.
func (e *Engine) unlessKnown(name string, otherwise, err error) error {
	if errors.Is(err, ErrNotAcquired) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var missing *NotReadyError
	switch why := e.names.why(name); {
	case why != ErrTaken && errors.As(e.masters.at(name).Ready(ended), &missing):
		return oneline.Join(fmt.Errorf("%w: %w: %w", ErrNoQuorum, ErrNotAcquired, missing), err)
	case why != nil:
		return oneline.Join(fmt.Errorf("%w: %w", why, ErrNotAcquired), err)
	}
	return oneline.Join(otherwise, err)
}
