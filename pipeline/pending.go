package pipeline

import (
	"container/heap"
	"slices"
	"time"
)

// A pendingReleases has the releases that one master could not be sent or has not answered.
// It is pure: no clock, no I/O. It is guarded by Pipeline.mu, and so no call costs more than
// O(log n) for each release that it adds or takes out.
//
// Each release is sent twice. First on the next connection, before anything else. Then
// once more a dead-peer time later: the bytes of an acquire may sit in the socket of the
// connection that died, and a server that was stopped reads them after it has answered on
// the new one.
type pendingReleases struct {
	deadPeer time.Duration
	first    releaseHeap // due on the next connection; ordered by when they are forgotten
	again    releaseHeap // ordered by when they are due
	inDoubt  []roundRange
}

type pendingRelease struct {
	name, token string
	at          time.Time // first: the key is gone by itself then; again: it is due then
	again       bool
}

// A releaseHeap is ordered by at; zero is never, and comes last.
type releaseHeap []*pendingRelease

func (h releaseHeap) Len() int      { return len(h) }
func (h releaseHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h releaseHeap) Less(i, j int) bool {
	return h[j].at.IsZero() || !h[i].at.IsZero() && h[i].at.Before(h[j].at)
}
func (h *releaseHeap) Push(r any) { *h = append(*h, r.(*pendingRelease)) }
func (h *releaseHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	if *h = (*h)[:last]; last == 0 {
		*h = nil // the memory of a long absence is freed
	}
	return r
}

// reached reports whether the first one's time has come.
func (h releaseHeap) reached(now time.Time) bool {
	return len(h) > 0 && !h[0].at.IsZero() && !now.Before(h[0].at)
}

// A roundRange is rounds that were in flight when a connection died. Their acquires are in
// doubt: they may be executed until the dead-peer time after the next admission.
type roundRange struct {
	from, to uint64
	until    time.Time // zero until a new connection is admitted
}

// died notes that rounds from to to were in flight on a connection that ended.
func (p *pendingReleases) died(from, to uint64) {
	p.inDoubt = append(p.inDoubt, roundRange{from: from, to: to})
}

// admitted starts the dead-peer time of the rounds that wait for it.
func (p *pendingReleases) admitted(now time.Time) {
	for i := range p.inDoubt {
		if p.inDoubt[i].until.IsZero() {
			p.inDoubt[i].until = now.Add(p.deadPeer)
		}
	}
}

// prune drops what has ended: rounds in doubt after the dead-peer time, and releases whose
// keys have expired.
func (p *pendingReleases) prune(now time.Time) {
	p.inDoubt = slices.DeleteFunc(p.inDoubt, func(r roundRange) bool { return !r.until.IsZero() && !now.Before(r.until) })
	for p.first.reached(now) {
		heap.Pop(&p.first)
	}
}

// add notes a release that was not sent or not answered.
func (p *pendingReleases) add(q *Request, now time.Time) {
	r := &pendingRelease{name: q.Name, token: q.Token, at: now.Add(q.TTL)}
	if _, inDoubt := p.isInDoubt(q.Round, now); inDoubt || q.Round == 0 {
		r.at = time.Time{} // the lease may begin later than we think
	}
	heap.Push(&p.first, r)
}

// sent notes a release that was answered; if the acquire that it undoes may still be
// waiting in a dead connection, it is sent once more.
func (p *pendingReleases) sent(q *Request, now time.Time) {
	if until, inDoubt := p.isInDoubt(q.Round, now); inDoubt && !until.IsZero() {
		heap.Push(&p.again, &pendingRelease{name: q.Name, token: q.Token, at: until, again: true})
	}
}

func (p *pendingReleases) isInDoubt(round uint64, now time.Time) (until time.Time, yes bool) {
	for _, r := range p.inDoubt {
		if r.from <= round && round <= r.to && (r.until.IsZero() || now.Before(r.until)) {
			return r.until, true
		}
	}
	return time.Time{}, false
}

// len returns how many releases are pending.
func (p *pendingReleases) len() int { return len(p.first) + len(p.again) }

// isDue reports whether take would find something.
func (p *pendingReleases) isDue(now time.Time) bool {
	p.prune(now)
	return len(p.first) > 0 || p.again.reached(now)
}

// take removes up to most releases that are due.
func (p *pendingReleases) take(now time.Time, most int) (due []*pendingRelease) {
	p.prune(now)
	for len(due) < most && len(p.first) > 0 {
		due = append(due, heap.Pop(&p.first).(*pendingRelease))
	}
	for len(due) < most && p.again.reached(now) {
		due = append(due, heap.Pop(&p.again).(*pendingRelease))
	}
	return due
}

// confirmed notes releases that were answered: each that was sent first is sent again.
func (p *pendingReleases) confirmed(releases []*pendingRelease, now time.Time) {
	for _, r := range releases {
		if !r.again {
			r.again, r.at = true, now.Add(p.deadPeer)
			heap.Push(&p.again, r)
		}
	}
}

// unconfirmed puts releases back that were not answered; they start over.
func (p *pendingReleases) unconfirmed(releases []*pendingRelease) {
	for _, r := range releases {
		if r.again {
			r.again, r.at = false, time.Time{}
		}
		heap.Push(&p.first, r)
	}
}
