package fencing

import (
	"math/bits"
	"strings"
)

// An Admission is one client's view of whether a master may vote. T is an instant on the client's clock.
//
//	          .-- its mark ---------------------------------------------------> votes
//	looked at +-- its mark, of an earlier process that forgot nothing --keep--> votes
//	          '-- any other --open--> waits --> is due --seed-----------------> votes
//	                 ^------------ the ticket is another --------'
//	any       --look--> looked at
//
// A master that lost data could grant a lock twice. So it waits until the longest lease it may have forgotten has run
// out. Its registers may be too small, so it gets the registers of N-q+1 other admitted masters: at least one of them
// stores each token that counts. The client reads them after the wait: by then no attempt that used the lost data can
// count.
//
// The ticket is a key on the master, and is lost with the master's data. Meanwhile another client may admit the master,
// have locks granted, and all of it be flushed. The master then has another ticket, and the wait starts again.
//
// The client never again believes a mark that disappeared. Data that returns with its mark, as by SWAPDB, is older than
// grants made meanwhile.
type Admission[T Time[T]] struct {
	runID  string
	mark   string // the mark under which the master votes; "": it does not vote
	keeps  string // the mark of an earlier process, whose data the master still has
	gone   string // marks that disappeared, one per line
	ticket string // "" before Opened
	from   T      // its votes may count from then on, once it is seeded
}

// Time is an instant on the client's own clock.
type Time[T any] interface{ Before(T) bool }

// A Step is what a client must do next for a master to vote.
type Step uint8

const (
	Vote Step = iota // nothing: the master votes
	Keep             // renew the mark
	Open             // start the wait
	Wait             // nothing yet
	Seed             // send the registers of others
)

// mostGone bounds the bytes of the marks in gone.
const mostGone = 16 << 10

// Met takes in a look at the server of a member. mark is the server's mark, or "" if it has no description of the set,
// or another one. forgetsNothing asserts that a restart loses no data and that the server was no replica before.
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

// forget notes a mark that disappeared.
func (a *Admission[T]) forget(mark string) {
	if mark == "" {
		return
	}
	a.gone += mark + "\n"
	if over := len(a.gone) - mostGone; over > 0 {
		a.gone = a.gone[over+strings.IndexByte(a.gone[over-1:], '\n'):]
	}
}

// Lost takes in that the data is lost or replaced. The client no longer believes the same mark; another client may have
// admitted the master under another mark since.
func (a *Admission[T]) Lost() {
	a.forget(a.mark)
	a.mark, a.keeps, a.ticket = "", "", ""
}

// Next returns what to do at now.
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

// Kept returns the mark of an earlier process, which Keep renews.
func (a *Admission[T]) Kept() string { return a.keeps }

// Renewed takes in the master's answer to a new mark. ok means that it still had the kept mark. Else look again.
func (a *Admission[T]) Renewed(mark string, ok bool) {
	if a.keeps = ""; ok {
		a.admit(mark)
	}
}

// Opened takes in that the master has the ticket, and that its votes may count from the given time. Opening with the
// same ticket again never moves that time out.
func (a *Admission[T]) Opened(ticket string, from T) {
	a.forget(a.mark)
	if a.ticket != ticket || from.Before(a.from) {
		a.ticket, a.from = ticket, from
	}
	a.mark, a.keeps = "", ""
}

// Ticket returns the master's ticket, or "" before Opened, and when its votes may count.
func (a *Admission[T]) Ticket() (ticket string, from T) { return a.ticket, a.from }

// Seeded takes in the master's answer to registers sent with a ticket. ok means that it still had the ticket. Otherwise
// open it again.
func (a *Admission[T]) Seeded(ticket string, ok bool) {
	if ticket != a.ticket {
		return // the answer belongs to an earlier admission
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

// Counts reports whether an answer with the given mark counts.
func (a *Admission[T]) Counts(mark string) bool { return a.mark != "" && mark == a.mark }

// Peers returns how many other masters' registers a master needs: any n-quorum+1 masters share one with every quorum.
func Peers(n, quorum int) int { return n - quorum + 1 }

// Enough reports whether the registers of the given masters suffice.
func Enough(read uint64, n, quorum int) bool { return bits.OnesCount64(read) >= Peers(n, quorum) }

// Merge makes each register the larger of two.
func Merge(into, from []uint64) {
	for i, v := range from {
		into[i] = max(into[i], v)
	}
}
