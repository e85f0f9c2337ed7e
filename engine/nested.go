package engine

import (
	"context"
	"errors"
	"slices"

	"muxlock/internal/oneline"
)

// An acquire under the ctx of a function that holds the same name (Do, DoAll, Lead): it waits for itself.

var errNested = errors.New("the lock is held by the ctx of this acquire, which waits for itself")

// holdsItself returns a lock of one of the keys that ctx holds; nil: there is none.
func (e *Engine) holdsItself(ctx context.Context, keys []string) *Lock {
	for w := withinOf(ctx); w != nil; w = withinOf(w.Context) {
		for _, l := range w.locks {
			if l.lease.e == e && slices.Contains(keys, l.lease.name) && l.Valid() {
				return l
			}
		}
	}
	return nil
}

// checkNested warns of an acquire that waits for itself. It returns an error if ctx comes from a reader of the name.
func (e *Engine) checkNested(ctx context.Context, waits bool, keys ...string) error {
	l := e.holdsItself(ctx, keys)
	switch {
	case l == nil:
	case l.lease.isShared():
		return invalid("name", "is held by the caller's ctx, as a reader: release that first, since two readers that both waited to write would wait for each other")
	case waits:
		e.record.nests(l.Name())
	}
	return nil
}

// nested returns the error of an acquire of keys, and says so if it waited for itself.
func (e *Engine) nested(ctx context.Context, err error, keys ...string) error {
	if errors.Is(err, ErrTaken) && e.holdsItself(ctx, keys) != nil {
		return oneline.Join(err, errNested)
	}
	return err
}
