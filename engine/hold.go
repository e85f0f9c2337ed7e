package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"muxlock/internal/oneline"
)

// within is the ctx of a function that runs under locks.
type within struct {
	context.Context
	locks []*Lock
	set   bool // they are a Set's
}

type withinKey struct{}

var errNested = errors.New("the ctx of this acquire holds the lock itself")

// withinOf returns the innermost function under locks that ctx comes from; nil: there is none.
func withinOf(ctx context.Context) *within {
	w, _ := ctx.Value(withinKey{}).(*within)
	return w
}

func (w *within) Value(key any) any {
	if key == (withinKey{}) {
		return w
	}
	return w.Context.Value(key)
}

// LockFrom returns the lock of the innermost Do, TryDo, DoShared, DoPermit or Lead that ctx comes from, and whether there
// is one. It may have been lost or released by now (Valid). DoAll puts no lock into ctx. No I/O.
//
// Locks are not reentrant. Goroutines that run side by side may share a ctx, so it does not tell whether the holder itself
// asks again: a second Acquire of a name waits like another caller's. A function that may run with or without the lock asks
// LockFrom.
func LockFrom(ctx context.Context) (*Lock, bool) {
	for w := withinOf(ctx); w != nil; w = withinOf(w.Context) {
		if !w.set {
			return w.locks[0], true
		}
	}
	return nil, false
}

func (l *Lock) hold(ctx context.Context, fn func(context.Context) error) error {
	return hold(&within{Context: ctx, locks: []*Lock{l}}, l, fn)
}

// A held is a Lock or a Set.
type held interface {
	Err() error
	KeepAlive(max time.Duration) error
	Context(context.Context) (context.Context, context.CancelFunc)
	Release(context.Context) error
}

// hold runs fn under the lock, keeps it alive meanwhile, and releases it. It returns fn's error, joined to
// those of the lock. If the lock is lost already, hold does not call fn.
func hold(ctx *within, l held, fn func(context.Context) error) (err error) {
	did, told := errPanicked, func(error, time.Time) {}
	defer func() {
		lost := l.Err()
		defer told(did, time.Now()) // after the release
		released := l.Release(context.WithoutCancel(ctx))
		switch {
		case lost == nil:
			err = oneline.Join(err, released)
		case !errors.Is(err, lost): // else fn returned the cause of its ctx
			err = oneline.Join(err, lost) // the lock is gone: Release says no more
		}
	}()
	if err := l.KeepAlive(0); err != nil {
		return nil // lost already; the deferred function says so
	}
	traced, ended := traceHold(ctx, ctx.locks)
	told = ended
	during, cancel := l.Context(withoutWait(traced))
	defer cancel()
	did = fn(during)
	return did
}

// checkNested warns of an acquire under the ctx of a function that holds the same name: it waits for itself. It returns an
// error if ctx comes from a reader of one of the keys.
func (c *contender) checkNested(ctx context.Context, keys ...string) error {
	for w := withinOf(ctx); w != nil; w = withinOf(w.Context) {
		for _, l := range w.locks {
			if l.lease.e != c.e || !slices.Contains(keys, l.lease.name) {
				continue
			}
			l.lock()
			held, shared := l.end == nil, kinds[l.lease.kind].Shared
			l.unlock()
			if held && shared {
				return invalid("name", "is held by the caller's ctx, as a reader: release that first, since two readers that both waited to write would wait for each other")
			}
			if held && c.nested == nil {
				if c.nested = l; c.tries.waits() {
					c.e.record.nests(l.Name())
				}
			}
		}
	}
	return nil
}
