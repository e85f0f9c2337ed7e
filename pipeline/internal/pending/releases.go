// Package pending knows which locks may be at a master, and keeps the releases that were not sent to
// the master or not answered by it. It is pure: no clock, no I/O.
package pending

import (
	"container/heap"
	"slices"
	"time"

	"muxlock/pipeline/internal/conn"
)

// Releases knows which locks may be at one master, and keeps its pending releases. Its owner calls
// it under a mutex, so no call costs more than O(log n) for each release that it adds or takes out.
//
// A lock may be at the master if its acquire was sent, even if only to the socket of a connection that
// died. It cannot be there if the round skipped the master. So a master
// that is away or behind needs the releases of earlier rounds (MustRelease), and no others. A lock
// whose acquire and release both wait to be sent needs neither.
//
// Each release is sent twice: first on the next connection, before anything else, and again a
// dead-peer time later. The socket of the connection that died may still hold an acquire. A server
// that was stopped reads it after it has answered on the new connection.
type Releases struct {
	deadPeer time.Duration
	skipped  uint64      // the first round that skips the master; 0: none does
	first    releaseHeap // due on the next connection; ordered by when the keys expire
	again    releaseHeap // ordered by when they are due
	inDoubt  []roundRange
}

// A Release is a pending release.
type Release struct {
	Name, Token string
	Shared      bool
	at          time.Time // in first: when the key has expired; in again: when the release is due
	again       bool      // it was answered once
}

// A releaseHeap is ordered by at. Zero is never, and comes last.
type releaseHeap []*Release

func (h releaseHeap) Len() int      { return len(h) }
func (h releaseHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h releaseHeap) Less(i, j int) bool {
	return h[j].at.IsZero() || !h[i].at.IsZero() && h[i].at.Before(h[j].at)
}
func (h *releaseHeap) Push(r any) { *h = append(*h, r.(*Release)) }
func (h *releaseHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	if *h = (*h)[:last]; last == 0 {
		*h = nil // frees the memory of a long absence
	}
	return r
}

// reached reports whether the time of the first release has come.
func (h releaseHeap) reached(now time.Time) bool {
	return len(h) > 0 && !h[0].at.IsZero() && !now.Before(h[0].at)
}

// A roundRange is the rounds that were in flight when a connection died. Their acquires are in
// doubt: until the dead-peer time after the next admission they may be executed. Tokens in line and healed
// locks from earlier rounds are in doubt, too, since they ask again.
type roundRange struct {
	from, to uint64
	until    time.Time // zero until a new connection is admitted
}

// New returns the Releases of a master that was asked for nothing yet. The bytes of a connection
// that died may be executed until deadPeer after the next connection was admitted.
func New(deadPeer time.Duration) Releases { return Releases{deadPeer: deadPeer, skipped: 1} }

// LeaveOut notes that rounds leave the master out from round n on, or already since an earlier round.
func (p *Releases) LeaveOut(n uint64) {
	if p.skipped == 0 || n < p.skipped {
		p.skipped = n
	}
}

// TakeIn notes that no round leaves the master out from now on.
func (p *Releases) TakeIn() { p.skipped = 0 }

// MustRelease reports whether a lock may be at the master: the round of its acquire did not leave
// the master out.
func (p *Releases) MustRelease(o conn.Origin) bool { return p.skipped == 0 || !o.Since(p.skipped) }

// Died notes the rounds in flight on a connection that died: from, to and all between.
func (p *Releases) Died(from, to uint64) {
	p.inDoubt = append(p.inDoubt, roundRange{from: from, to: to})
}

// Admitted starts the dead-peer time of rounds that wait for the next admission.
func (p *Releases) Admitted(now time.Time) {
	for i := range p.inDoubt {
		if p.inDoubt[i].until.IsZero() {
			p.inDoubt[i].until = now.Add(p.deadPeer)
		}
	}
}

// Prune drops rounds in doubt after the dead-peer time, and releases whose keys have expired.
func (p *Releases) Prune(now time.Time) {
	p.inDoubt = slices.DeleteFunc(p.inDoubt, func(r roundRange) bool { return !r.until.IsZero() && !now.Before(r.until) })
	for p.first.reached(now) {
		heap.Pop(&p.first)
	}
}

// Add notes a release that was not sent or not answered.
func (p *Releases) Add(q *conn.Request, now time.Time) {
	r := &Release{Name: q.Name, Token: q.Token, Shared: q.Shared, at: now.Add(q.TTL)}
	if _, inDoubt := p.isInDoubt(q, now); inDoubt || q.Origin == conn.OriginUnknown {
		r.at = time.Time{} // the acquire may be executed later, and only then the lease begins
	}
	heap.Push(&p.first, r)
}

// Sent notes a release that was answered. It is sent once more if its acquire is in doubt, or if the
// caller says so.
func (p *Releases) Sent(q *conn.Request, now time.Time, again bool) {
	until, inDoubt := p.isInDoubt(q, now)
	if again && !inDoubt {
		until = now.Add(p.deadPeer)
	}
	if !until.IsZero() {
		heap.Push(&p.again, &Release{Name: q.Name, Token: q.Token, Shared: q.Shared, at: until, again: true})
	}
}

func (p *Releases) isInDoubt(q *conn.Request, now time.Time) (until time.Time, yes bool) {
	for _, r := range p.inDoubt {
		asked := q.Origin.Since(r.from) || (q.Op == conn.Pass || q.Healed) && q.Origin.Since(1)
		if asked && !q.Origin.Since(r.to+1) && (r.until.IsZero() || now.Before(r.until)) {
			return r.until, true
		}
	}
	return time.Time{}, false
}

// Len returns how many releases are pending.
func (p *Releases) Len() int { return len(p.first) + len(p.again) }

// IsDue reports whether Take would find a release.
func (p *Releases) IsDue(now time.Time) bool {
	p.Prune(now)
	return len(p.first) > 0 || p.again.reached(now)
}

// Take removes up to most releases that are due.
func (p *Releases) Take(now time.Time, most int) (due []*Release) {
	p.Prune(now)
	for len(due) < most && len(p.first) > 0 {
		due = append(due, heap.Pop(&p.first).(*Release))
	}
	for len(due) < most && p.again.reached(now) {
		due = append(due, heap.Pop(&p.again).(*Release))
	}
	return due
}

// Confirmed notes releases that were answered. A release that was answered for the first time is sent again.
func (p *Releases) Confirmed(releases []*Release, now time.Time) {
	for _, r := range releases {
		if !r.again {
			r.again, r.at = true, now.Add(p.deadPeer)
			heap.Push(&p.again, r)
		}
	}
}

// Unconfirmed puts back releases that were not answered. They start over.
func (p *Releases) Unconfirmed(releases []*Release) {
	for _, r := range releases {
		if r.again {
			r.again, r.at = false, time.Time{}
		}
		heap.Push(&p.first, r)
	}
}

// All returns the releases that are due on the next connection. The caller must not change it.
func (p *Releases) All() []*Release { return p.first }

// InDoubt reports whether any acquire is in doubt: a dead connection carried it, and it may still
// be executed.
func (p *Releases) InDoubt() bool { return len(p.inDoubt) > 0 }
