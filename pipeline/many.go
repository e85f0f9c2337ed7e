package pipeline

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"muxlock/pipeline/internal/conn"
)

// DoMany is Do for several requests, but its caller parks once, until all are decided or ctx ends. The requests
// are queued together, so that they share rounds. A Set (Request.Joint) stays in one round: each master grants all
// of it or none, so its requests have the same votes. Of a choice (Request.OneOf) each master grants the first
// free name. At the end DoMany calls each for every request, in order, with the results that Do would return.
// The outcome may be used until each returns.
func (p *Pipeline) DoMany(ctx context.Context, reqs []Request, each func(i int, out *Outcome, err error)) {
	if len(reqs) == 0 {
		return
	}
	t := p.together.Get().(*together)
	t.begin(ctx, reqs)
	for i, end := 0, 0; i < len(reqs); i = end {
		end = conn.UnitEnd(reqs, i)
		err := p.count(&reqs[i], end-i)
		for j := i; j < end; j++ {
			t.refuse(j, err)
		}
	}
	p.mu.Lock()
	for i := range t.calls {
		if t.errs[i] == nil {
			t.refuse(i, p.queueLocked(&t.calls[i]))
		}
	}
	p.formForCallerLocked()
	p.unlockAndWrite()
	abandons := 0
	if !t.less(1) {
		select {
		case <-t.done:
		case <-ctx.Done():
			abandons = p.abandonAll(ctx, t)
		}
	}
	for i := range t.calls {
		each(i, &t.calls[i].out, t.errs[i])
	}
	if abandons == 0 { // else rounds may still have them
		clear(t.calls)
		p.together.Put(t)
	}
}

// abandonAll abandons the calls that are not decided, and returns how many. By then the outcomes of the
// others are written.
func (p *Pipeline) abandonAll(ctx context.Context, t *together) (abandons int) {
	for i := range t.calls { // all of them before p.abandon, which may form a round
		if t.errs[i] == nil && t.calls[i].state.CompareAndSwap(waiting, abandoned) {
			t.errs[i] = ctx.Err()
			abandons++
		}
	}
	for i := range t.calls {
		if t.calls[i].state.Load() == abandoned {
			p.abandon(&t.calls[i])
		}
	}
	if abandons == 0 || !t.less(abandons) {
		<-t.done
	}
	return abandons
}

// A together is the calls of one DoMany: their caller parks once.
type together struct {
	calls     []call
	errs      []error       // by call: why it will not be decided
	undecided atomic.Int32  // calls that may be decided, and 1 until all are queued
	done      chan struct{} // capacity 1, signalled by the last decision
}

func (t *together) begin(ctx context.Context, reqs []Request) {
	t.calls = slices.Grow(t.calls[:0], len(reqs))[:len(reqs)]
	t.errs = slices.Grow(t.errs[:0], len(reqs))[:len(reqs)]
	clear(t.errs)
	t.undecided.Store(int32(len(reqs)) + 1)
	var until time.Time
	if ctx.Done() != nil { // as in Do
		until, _ = ctx.Deadline()
	}
	for i := range t.calls {
		c := &t.calls[i]
		c.req, c.until, c.done, c.among = reqs[i], until, t.done, t
	}
}

func (t *together) refuse(i int, err error) {
	if err != nil {
		t.errs[i] = err
		t.less(1)
	}
}

// less takes n calls off, and reports whether that was the last.
func (t *together) less(n int) bool { return t.undecided.Add(int32(-n)) == 0 }
