package line

import "time"

// An Answer is a master's message about a token in line: a reply to a request, or a push.
type Answer[K any] struct {
	Kind    Kind
	Version uint32        // of the request that a grant answers
	Lease   time.Duration // of a grant, as the master set it; of Has, what is left
	Fence   uint64        // the fencing token that the master granted; 0: none, or not known
	Next    [2]K          // with a grant: the tokens in line now
	Word    string        // of the pass
	Rank    int           // with InLine: from 0
	Value   K             // with InLine: the holder's token; the zero value: nobody holds the lock
	Mark    string        // under which the master granted, with fencing
}

// Kind is the kind of an Answer, by the letter that the scripts use.
type Kind byte

const (
	Granted Kind = 'g' // the master granted the lock
	Has     Kind = 'm' // the token holds the lock there already
	InLine  Kind = 'q'
	Missing Kind = 'x' // the token is not in line
	Opened  Kind = 'o' // push: the holder left the name open
	Free    Kind = 'f' // push: the name is free, and the token first in line
)

// Hear takes what a master says. The drift allowance is off a grant's lease. The waiter waits for after if the name is left
// open: the owner draws that between OpenFor and OpenFor*3/2.
func (w *Waiter[K, T]) Hear(master int, a Answer[K], after time.Duration, now T) (c Command[K]) {
	if w.Place.Ended {
		return c
	}
	switch a.Kind {
	case Granted, Has:
		c = w.granted(master, a, now)
	case InLine:
		c = w.inLine(master, a)
	case Missing:
		w.Values[master], w.Seats[master], w.missing = *new(K), Seat[T]{}, true
	case Opened:
		if !w.isOpen() { // else another master has said so
			w.opened = now.Add(after)
			c = Command[K]{Again: true, From: after, To: after, Spot: true}
		}
	case Free:
		c = w.free(master)
	}
	if reply := a.Kind == InLine || a.Kind == Has; reply && w.Queued && !w.isOpen() && w.mayTake(w.live(now)) {
		c.Again, c.From, c.To = true, 0, 0
	}
	return c
}

func (w *Waiter[K, T]) granted(master int, a Answer[K], now T) (c Command[K]) {
	before := w.live(now)
	if !w.Place.Grant(&w.Seats[master], a.Version, a.Lease, a.Fence) {
		return c
	}
	w.Values[master] = w.Own
	if a.Kind == Granted {
		w.firsts[master], w.seconds[master] = a.Next[0], a.Next[1]
	}
	live := w.live(now)
	if _, c.Won = valid(w.Seats, live, w.Terms.Quorum); !c.Won && before == 0 && live != 0 {
		c = w.stray(w.stuck)
	}
	return c
}

func (w *Waiter[K, T]) inLine(master int, a Answer[K]) (c Command[K]) {
	w.Values[master] = a.Value
	if a.Value != *new(K) {
		w.Free &^= 1 << master
	} else if c = w.free(master); c.Again && a.Rank > 0 && (w.rank == 0 || a.Rank < w.rank) {
		w.rank = a.Rank // waiters in front may be gone, and each request removes a few of them
	} else {
		c = Command[K]{}
	}
	c.Watch = a.Rank == 0 && !w.watching
	w.watching = w.watching || c.Watch
	return c
}

// free notes that the name is free at a master.
func (w *Waiter[K, T]) free(master int) (c Command[K]) {
	if w.Free |= 1 << master; !w.isOpen() {
		c = Command[K]{Again: true, From: ShortHold + 2*w.Trip, To: ShortHold + 2*w.Trip}
	}
	return c
}
