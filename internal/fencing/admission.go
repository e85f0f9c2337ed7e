package fencing

import (
	"math/bits"
)

// An Admission is one client's view of whether a master may vote. T is its clock.
//
//	unknown --Met, with the mark of this incarnation--> admitted
//	        --Met, without--> opening --Opened--> waiting --Due--> seeding --Seeded--> admitted
//	                             ^------------------------------------------ refused --'
//	any     --Met, another incarnation; Lost its data--> as unknown
//
// A master that lost data would grant what it granted before, so it waits until the longest
// lease that it may have forgotten has run out. Its registers may be too small, so it gets
// those of N-q+1 admitted others: one of them stores every token that counts. They are read
// after the wait, when no attempt that rests on the lost data can count any more.
//
// The ticket is a key on the master that goes with its data. Another client may admit the
// master meanwhile, locks be granted and all of it be flushed: then the ticket is not
// the one that was remembered, and the wait starts again.
type Admission[T Time[T]] struct {
	incarnation string
	admitted    bool
	ticket      string // "" before Opened
	from        T      // its votes may count from then on, if it is seeded
}

// Time is an instant on the client's own clock.
type Time[T any] interface{ Before(T) bool }

// Met is the begin of a connection to a server with the given run_id. mark is the run_id
// under which the set's description was stored there, "" if the description is missing or
// another. It reports whether the master may vote; else it must be opened.
func (a *Admission[T]) Met(incarnation, mark string) bool {
	if a.incarnation != incarnation {
		*a = Admission[T]{incarnation: incarnation}
	}
	a.admitted = mark == incarnation && mark != ""
	return a.admitted
}

// Lost is that the data of the incarnation is gone or another's.
func (a *Admission[T]) Lost() { *a = Admission[T]{} }

// Opened is that the master has the given ticket. Its votes may count from the given time
// on. A ticket that was known before does not move that.
func (a *Admission[T]) Opened(ticket string, from T) {
	if a.ticket != ticket {
		a.ticket, a.from, a.admitted = ticket, from, false
	}
}

// Waits returns until when the master waits, and false if it does not wait: it is admitted,
// or was not opened.
func (a *Admission[T]) Waits() (until T, waits bool) {
	return a.from, !a.admitted && a.ticket != ""
}

// Due reports whether the wait is over and the registers of the others are to be read now.
// It returns the ticket with which the master is to be seeded then.
func (a *Admission[T]) Due(now T) (ticket string, due bool) {
	return a.ticket, !a.admitted && a.ticket != "" && !now.Before(a.from)
}

// Seeded is the answer of the master to the registers that it was sent with a ticket: whether
// it still had that. If not, it must be opened again.
func (a *Admission[T]) Seeded(ticket string, ok bool) {
	if ticket != a.ticket {
		return // of an admission before this one
	}
	a.admitted = ok
	a.ticket = ""
}

// Admitted reports whether the master may vote.
func (a *Admission[T]) Admitted() bool { return a.admitted }

// Peers returns how many admitted others' registers a master needs, of n masters: as many
// as share one with every quorum.
func Peers(n, quorum int) int { return n - quorum + 1 }

// Enough reports whether the registers of the given masters suffice.
func Enough(read uint64, n, quorum int) bool { return bits.OnesCount64(read) >= Peers(n, quorum) }

// Merge makes each register the larger of two.
func Merge(into, from []uint64) {
	for i, v := range from {
		into[i] = max(into[i], v)
	}
}
