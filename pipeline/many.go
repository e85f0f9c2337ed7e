package pipeline

import (
	"context"
	"sync/atomic"
)

// A Result is what Do returns.
type Result struct {
	Outcome Outcome
	Err     error
}

// DoMany asks all masters for each of some requests as Do does, but its caller parks once, until all are
// decided or ctx ends. The requests are queued one behind the other, so that they share rounds. The
// results are in their order.
func (p *Pipeline) DoMany(ctx context.Context, reqs []Request) []Result {
	results, calls := make([]Result, len(reqs)), make([]call, len(reqs))
	if len(reqs) == 0 {
		return results
	}
	all := &together{done: make(chan struct{}, 1)}
	all.left.Store(int32(len(reqs)))
	until, _ := ctx.Deadline()
	for i := range calls {
		c := &calls[i]
		c.req, c.until, c.done, c.among = reqs[i], until, all.done, all
		results[i].Err = p.count(c)
	}
	p.mu.Lock()
	for i := range calls {
		if results[i].Err == nil {
			results[i].Err = p.queueLocked(&calls[i])
		}
	}
	p.formForCallerLocked()
	p.unlockAndWrite()
	refused := 0
	for i := range results {
		if results[i].Err != nil {
			refused++
		}
	}
	if !all.less(refused) {
		select {
		case <-all.done:
		case <-ctx.Done():
			p.abandonAll(ctx, calls, results)
		}
	}
	for i := range calls {
		if results[i].Err == nil {
			results[i].Outcome = calls[i].out
		}
	}
	return results
}

// abandonAll abandons the calls that are not decided. It returns when the outcomes of the others are written.
func (p *Pipeline) abandonAll(ctx context.Context, calls []call, results []Result) {
	abandons := 0
	for i := range calls {
		if c := &calls[i]; results[i].Err == nil && c.state.CompareAndSwap(waiting, abandoned) {
			p.abandon(c)
			results[i].Err = ctx.Err()
			abandons++
		}
	}
	if !calls[0].among.less(abandons) {
		<-calls[0].done
	}
}

// together is some calls whose caller parks once.
type together struct {
	left atomic.Int32  // calls that may still be decided
	done chan struct{} // capacity 1, signalled by whoever decides the last
}

// less takes n calls off, and reports whether none is left.
func (t *together) less(n int) bool { return n > 0 && t.left.Add(int32(-n)) == 0 }
