package engine

import (
	"context"
	"muxlock/internal/clock"
	"muxlock/internal/redlock"

	"github.com/valyala/fastrand"
)

// What a contender does between two attempts.

// rest waits before the next attempt, unless c stands in line from now on.
func (c *contender) rest(ctx context.Context, next step) (*Lock, error) {
	if next.why == ErrTaken {
		if c.others.crowded = true; c.standsInLine(ctx) {
			return nil, nil
		}
		c.spot(ctx)
		if err := c.intend(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	if next.await || kinds[c.kind].Shared && next.why == ErrTaken { // readers split no votes: a writer comes or goes
		err = c.await(ctx, c.name, next)
	} else {
		if next.why == ErrNoQuorum { // no attempt wins before a quorum votes
			_ = c.e.masters.at(c.name).Ready(ctx)
		}
		err = c.e.pause(ctx, redlock.Jitter(next.from, next.to, fastrand.Uint32n))
	}
	if err == nil && next.await {
		err = c.e.pause(ctx, c.gap())
	}
	if err == nil {
		c.e.record.counts.retries.Add(1)
	}
	return nil, err
}

// await waits until a name may be free, and then for a random delay. All waiters are woken at once, and
// three that ask at once would split the vote. After a long delay await checks once whether the name is
// still free.
func (c *contender) await(ctx context.Context, name string, next step) error {
	e, crowd := c.e, &c.tries.crowd
	asked := clock.Now()
	if err := c.awaken(ctx, name); err != nil {
		return err
	}
	if kinds[c.kind].Shared { // all readers may come at once
		return nil
	}
	crowd.Woken(clock.Now().Sub(asked))
	longest := max(next.to, e.masters.spread(), crowd.Window())
	delay := redlock.Jitter(next.from, longest, fastrand.Uint32n)
	if err := e.pause(ctx, delay); err != nil || !crowd.Stale(delay) {
		return err
	}
	asked = clock.Now()
	err := c.awaken(ctx, name)
	if err == nil && crowd.Held(clock.Now().Sub(asked)) {
		err = e.pause(ctx, redlock.Jitter(next.from, longest, fastrand.Uint32n))
	}
	return err
}
