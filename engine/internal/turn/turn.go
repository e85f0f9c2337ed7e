// Package turn has the rules of the queue within a process: who has a name, who asks the masters for it, who waits, and who
// is next. It is pure: no clock, no I/O, no goroutine, no mutex. Package engine calls it with the mutex of the name's shard
// held, and tells the waiters.
//
//	      Join                Take           Release: HandsOver
//	idle -------> one asks ---------> has it -----------------> the next has it
//	               ^ | Next             | Release: another verdict, or the lease was lost
//	               | v                  v
//	               the first waiter asks, or idle
//
// Readers have a name side by side. The first of those who wait is served as soon as readers have the name. Callers who
// want a permit ask side by side until one is refused. Then they wait, and the leases are those of the slots, which have
// queues of their own without waiters.
package turn

import (
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/redlock"
)

// A Kind is what matters here of a kind of lock.
type Kind struct {
	Shared    bool // holders have it side by side
	TakesOver bool // a waiter is given what this process hands over; else it asks when it is its turn
	HandsOver bool // its holder may hand it over
}

// A Lease is what the masters granted this process.
type Lease interface {
	comparable
	Kind() *Kind // of the present holder, or the last one
	Term() *Term
	Lasts(ttl time.Duration, now clock.Instant) bool // long enough for a holder who wants ttl
}

// A Term is what a lease has seen in this process, from holder to holder.
type Term struct {
	Since     clock.Instant // when it was granted
	HandOvers int32         // how often it was handed over
	Newcomers bool          // it was handed over to a caller who came after it was granted
	Revealed  bool          // others may have the token: it must not be handed over
	Ended     bool
}

// Bounds are for how long a lease may be handed over.
type Bounds struct {
	Longest   time.Duration
	Newcomers time.Duration // to more than one caller who came after it was granted
}

// isYoung reports whether the lease was neither held for longest nor handed over too often.
func (t *Term) isYoung(longest time.Duration, now clock.Instant) bool {
	return redlock.MayHandOver(int(t.HandOvers), fencing.MaxHandOvers, now.Sub(t.Since), longest)
}

// A Queue is who of this process has one name, asks for it, and waits. P is what its user keeps of a waiter.
type Queue[L Lease, P any] struct {
	Lease       L    // that the next caller may get; zero: none
	Apart       []L  // adopted ones, and readers' that no further reader may join
	Asks        bool // a caller asks the masters, and nobody else may
	beside      int  // callers who want a permit, and do not hold it yet
	first, last *Waiter[P]
}

// A Waiter is a caller in a Queue.
type Waiter[P any] struct {
	Kind       *Kind
	TTL        time.Duration
	Limit      int           // of the permits of which it wants one
	Since      clock.Instant // of its wait
	Of         P
	prev, next *Waiter[P]
	queued     bool
}

// Idle reports whether nobody has the name, asks for it or waits.
func (q *Queue[L, P]) Idle() bool { return !q.has() && !q.Asks && q.first == nil }

// Unused reports whether the queue is as good as a new one.
func (q *Queue[L, P]) Unused() bool { return q.Idle() && len(q.Apart) == 0 && q.beside == 0 }

func (q *Queue[L, P]) has() bool {
	var none L
	return q.Lease != none
}

// Begin lets a caller ask the masters if the queue is idle. Else it reports false.
func (q *Queue[L, P]) Begin() bool {
	idle := q.Idle()
	q.Asks = q.Asks || idle
	return idle
}

// A Verdict is what becomes of a caller who joins.
type Verdict uint8

const (
	Asks    Verdict = iota // it asks the masters
	Joins                  // the readers who have the name
	Waits                  // it is to be put into the queue
	Refused                // as Waits, but it does not wait
)

// Join decides for a caller. longest is for how long readers may join a lease.
func (q *Queue[L, P]) Join(k *Kind, ttl time.Duration, waits bool, longest time.Duration, now clock.Instant) Verdict {
	beside := k.Shared && q.has() && q.Lease.Kind().Shared && q.first == nil
	switch {
	case q.Begin():
		return Asks
	case beside && q.mayJoin(ttl, longest, now):
		return Joins
	case beside:
		q.setApart()
		q.Asks = true
		return Asks
	case !waits:
		return Refused
	}
	return Waits
}

// mayJoin reports whether a further reader may join the lease.
func (q *Queue[L, P]) mayJoin(ttl, longest time.Duration, now clock.Instant) bool {
	t := q.Lease.Term()
	return !t.Ended && t.isYoung(longest, now) && q.Lease.Lasts(ttl, now)
}

func (q *Queue[L, P]) setApart() {
	var none L
	q.Apart, q.Lease = append(q.Apart, q.Lease), none
}

// Take notes that the caller who asked has the lease.
func (q *Queue[L, P]) Take(l L) { q.Lease, q.Asks = l, false }

// NextReader takes a reader out of the front of the queue while readers have the name. It joins their lease, or it asks for
// another. nil: there is none.
func (q *Queue[L, P]) NextReader(longest time.Duration, now clock.Instant) (w *Waiter[P], joins bool) {
	if w = q.first; w == nil || !w.Kind.Shared || !q.has() || !q.Lease.Kind().Shared {
		return nil, false
	}
	if joins = q.mayJoin(w.TTL, longest, now); joins {
		return q.Pop(), true
	}
	q.setApart()
	return q.Next(), false
}

// Next ends the turn of the caller who asks, or of the lease. The first waiter asks. nil: nobody waits.
func (q *Queue[L, P]) Next() *Waiter[P] {
	var none L
	w := q.Pop()
	q.Lease, q.Asks = none, w != nil
	return w
}

// A Fate is what becomes of a lease whose last holder releases it.
type Fate uint8

const (
	Deleted    Fate = iota // it is over
	DeletedOwn             // it is over; others wait, and Next follows when it is deleted: they ask after other processes
	Extended               // the next waiter extends it, and has it then
	HandedOver             // the next waiter has it
)

// Release decides what becomes of the lease l, and returns the waiter who gets it. The waiters are those of q or, if it is of a
// slot, those who want a permit.
func (q *Queue[L, P]) Release(l L, waiters *Queue[L, P], slot int, b Bounds, now clock.Instant) (Fate, *Waiter[P]) {
	t, w := l.Term(), waiters.first
	if t.Ended || q.Lease != l { // the latter: other readers have another one
		return Deleted, nil
	}
	may := w != nil && mayHave(w, l, b, now)
	switch {
	case w == nil, q != waiters && (!may || slot >= w.Limit || !l.Lasts(w.TTL, now)): // who waits for a permit asks already
		q.Next()
		return Deleted, nil
	case !may:
		var none L
		q.Lease, q.Asks = none, true
		return DeletedOwn, nil
	}
	t.HandOvers++
	if !l.Lasts(w.TTL, now) {
		return Extended, q.Next()
	}
	t.Newcomers = w.cameAfter(t)
	return HandedOver, waiters.Pop()
}

// mayHave reports whether w may be handed the lease.
func mayHave[L Lease, P any](w *Waiter[P], l L, b Bounds, now clock.Instant) bool {
	t, longest := l.Term(), b.Longest
	if t.Newcomers && w.cameAfter(t) {
		longest = min(longest, b.Newcomers)
	}
	return w.Kind.TakesOver && l.Kind().HandsOver && !t.Revealed && t.isYoung(longest, now)
}

// cameAfter reports whether w did not wait yet when the lease was granted.
func (w *Waiter[P]) cameAfter(t *Term) bool { return !w.Since.Before(t.Since) }
