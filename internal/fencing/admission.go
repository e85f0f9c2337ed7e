package fencing

import (
	"math/bits"
	"strings"
)

// An Admission is one client's view of whether a master may vote. T is its clock.
//
//	          .-- its mark ---------------------------------------------------> votes
//	looked at +-- its mark, of an earlier process that forgot nothing --keep--> votes
//	          '-- any other --open--> waits --> is due --seed-----------------> votes
//	                 ^------------ the ticket is another --------'
//	any       --look--> looked at
//
// A master that lost data would grant what it granted before, so it waits until the longest
// lease that it may have forgotten has run out. Its registers may be too small, so it gets
// those of N-q+1 admitted others: one of them stores every token that counts. They are read
// after the wait, when no attempt that rests on the lost data can count any more.
//
// The ticket is a key on the master that goes with its data. Another client may admit the
// master meanwhile, locks be granted and all of it be flushed: then the ticket is not
// the one that was remembered, and the wait starts again.
//
// A mark that went away is not believed again: what came back with it, as by SWAPDB, is older
// than what others may have been granted meanwhile.
type Admission[T Time[T]] struct {
	runID  string
	mark   string // under which it votes; "": it does not
	keeps  string // the mark of an earlier process, whose data the master still has
	gone   string // marks that are not believed, a line each
	ticket string // "" before Opened
	from   T      // its votes may count from then on, if it is seeded
}

// Time is an instant on the client's own clock.
type Time[T any] interface{ Before(T) bool }

// A Step is what a client does next to have a master vote.
type Step uint8

const (
	Vote Step = iota // nothing: it does
	Keep             // renew its mark
	Open             // have it wait
	Wait             // nothing yet
	Seed             // with the registers of others
)

// mostGone bounds how many bytes of marks that went away are remembered.
const mostGone = 16 << 10

// Met is a look at the server of a member. mark is what it has there, "" if the set's
// description is missing or another. forgetsNothing asserts that a restart loses no data, and
// that the server was no replica before.
func (a *Admission[T]) Met(member, runID, mark string, forgetsNothing bool) {
	last := a.mark
	a.mark, a.keeps = "", ""
	if a.runID != runID {
		a.runID, a.ticket = runID, ""
	}
	m := ParseMark(mark)
	switch believed := m.Member == member && !strings.Contains(a.gone, mark+"\n"); {
	case believed && m.Admits(runID, member):
		a.admit(mark)
	case believed && forgetsNothing:
		a.keeps = mark
	}
	if last != mark {
		a.forget(last)
	}
}

func (a *Admission[T]) admit(mark string) { a.mark, a.keeps, a.ticket = mark, "", "" }

// forget notes a mark that went away.
func (a *Admission[T]) forget(mark string) {
	if mark == "" {
		return
	}
	a.gone += mark + "\n"
	if over := len(a.gone) - mostGone; over > 0 {
		a.gone = a.gone[over+strings.IndexByte(a.gone[over:], '\n')+1:]
	}
}

// Lost is that the data is gone or another's: what is there with the same mark is not believed. Another
// client may have admitted the master since, under another mark.
func (a *Admission[T]) Lost() {
	a.forget(a.mark)
	a.mark, a.keeps, a.ticket = "", "", ""
}

// Next returns what is to be done at now.
func (a *Admission[T]) Next(now T) Step {
	switch {
	case a.mark != "":
		return Vote
	case a.keeps != "":
		return Keep
	case a.ticket == "":
		return Open
	case now.Before(a.from):
		return Wait
	}
	return Seed
}

// Kept returns the mark of an earlier process that is to be renewed.
func (a *Admission[T]) Kept() string { return a.keeps }

// Renewed is the answer of the master to a new mark: whether it still had the one that it kept.
// If not, it must be looked at again.
func (a *Admission[T]) Renewed(mark string, ok bool) {
	if a.keeps = ""; ok {
		a.admit(mark)
	}
}

// Opened is that the master has the given ticket. Its votes may count from the given time
// on. A ticket that was known before never moves that out.
func (a *Admission[T]) Opened(ticket string, from T) {
	a.forget(a.mark)
	if a.ticket != ticket || from.Before(a.from) {
		a.ticket, a.from = ticket, from
	}
	a.mark, a.keeps = "", ""
}

// Ticket returns the ticket of the master, and from when on its votes may count; "" if it was
// not opened.
func (a *Admission[T]) Ticket() (ticket string, from T) { return a.ticket, a.from }

// Seeded is the answer of the master to the registers that it was sent with a ticket: whether
// it still had that. If not, it must be opened again.
func (a *Admission[T]) Seeded(ticket string, ok bool) {
	if ticket != a.ticket {
		return // of an admission before this one
	}
	a.ticket = ""
	if ok {
		a.admit(ticket)
	}
}

// Admitted reports whether the master may vote.
func (a *Admission[T]) Admitted() bool { return a.mark != "" }

// Mark returns the mark under which the master votes, "" if it does not.
func (a *Admission[T]) Mark() string { return a.mark }

// Counts reports whether an answer counts that came with the given mark.
func (a *Admission[T]) Counts(mark string) bool { return a.mark != "" && mark == a.mark }

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
