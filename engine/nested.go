package engine

import (
	"context"
	"errors"
	"slices"
)

// An acquire under the ctx of a function that holds the same name (Do, DoAll, Lead): it waits for itself.

var errNested = errors.New("the ctx of this acquire holds the lock itself")

// checkNested warns of an acquire that waits for itself. It returns an error if ctx comes from a reader of one of the keys.
func (c *contender) checkNested(ctx context.Context, keys ...string) error {
	for w := withinOf(ctx); w != nil; w = withinOf(w.Context) {
		for _, l := range w.locks {
			if l.lease.e != c.e || !slices.Contains(keys, l.lease.name) {
				continue
			}
			l.lock()
			held, shared := l.end == nil, kinds[l.lease.kind].Shared
			l.unlock()
			switch {
			case held && shared:
				return invalid("name", "is held by the caller's ctx, as a reader: release that first, since two readers that both waited to write would wait for each other")
			case held:
				if c.nested = l; c.tries.waits() {
					c.e.record.nests(l.Name())
				}
				return nil
			}
		}
	}
	return nil
}
