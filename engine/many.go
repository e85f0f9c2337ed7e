package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"muxlock/pipeline"
)

// A Result is the outcome of AcquireMany for one name: the lock, or why there is none.
type Result struct {
	Lock *Lock
	Err  error
}

// AcquireMany is TryAcquire for each of many names, in one round trip, for a worker that locks a page of rows. The results
// are in the order of names. A name given twice is ErrTaken the second time. Each lock is renewed, lost and released by
// itself. Working off a page may take longer than ttl: keep each lock alive at once, and work on a row under its lock's
// Context.
//
// AcquireMany returns when the last name is decided: within about twice Config.MasterTimeout, with Fencing within twice
// that, or when ctx ends. A name that a hung master leaves undecided costs all others validity, so ttl should be several
// times as long. In Config.Queue each name counts as a call. Errors, by name: those of TryAcquire.
func (e *Engine) AcquireMany(ctx context.Context, names []string, ttl time.Duration) []Result {
	results := make([]Result, len(names))
	all := contender{e: e}
	if all.traces(ctx) {
		defer func(ctx context.Context) {
			var err error
			locks := make([]*Lock, len(results))
			for i, r := range results {
				locks[i], err = r.Lock, cmp.Or(err, r.Err)
			}
			all.told(ctx, slices.Clone(names), err, locks...)
		}(ctx)
	}
	ctx, stop := waiting(ctx)
	defer stop()
	asked, index := make([]contender, 0, len(names)), make([]int, 0, len(names))
	reqs := make([]pipeline.Request, 0, len(names))
	for i, name := range names {
		c := e.newContender(1, false, exclusive)
		if _, err := c.enter(ctx, name, ttl); err != nil {
			results[i].Err = err
			continue
		}
		asked, index, reqs = append(asked, c), append(index, i), append(reqs, c.request(c.name))
	}
	all.tries.made = min(len(reqs), 1)
	outs, errs := e.masters.askMany(ctx, reqs)
	e.masters.raiseLow(ctx, reqs, outs, errs)
	for i, err := range errs {
		c, result := &asked[i], &results[index[i]]
		if err == nil {
			start, next := c.judge(&outs[i], c.turn.called)
			result.Lock, next = c.conclude(&reqs[i], &outs[i], next, start)
			err = next.failed
		}
		if err != nil {
			result.Err = c.failed(c.quit(err))
		}
	}
	return results
}
