// Package line holds the rules of a line of processes that wait for one name at N masters. Values in, values out: no
// clock, no I/O, no goroutine. The engine and the model checker (internal/testing/model) call the same functions.
//
// A waiter's token stands in line at every master. That is a standing acquire: consent, with a lease, to be granted at
// any later time. A master grants it when the holder before passes the lock on, or when the waiter asks and the name is
// free. The owner has the lock once a quorum of grants lives. Validity counts from before the request was sent that the
// grant answers, as if a SET NX had been slow. So whoever is granted, named or skipped, and in which order, is no matter
// of safety. At each master a token stands in line once, and is granted at most once until it counts. Then its holder may
// set it again where a master lost it.
//
// Such a master is to be the holder's. So a waiter asks to be granted only where that may give it the lock (MayTake), and
// else to be queued. What it was granted beside a holder it gives back to nobody (GiveBack).
package line

import (
	"math/bits"
	"slices"
	"time"
)

// Time is an instant on the owner's own clock.
type Time[T any] interface {
	Before(T) bool
	Reached(now T) bool
	Add(time.Duration) T
}

// A Place is a token's place in line.
//
//	waiting --a quorum of grants--> taken --release--> given up
//	        '--------- ctx ends, or the votes are split ---^
//
// Grants count only while it waits. What arrives later is at the masters, and the token's own pass removes it.
type Place[T Time[T]] struct {
	state state
	asked uint32    // the version of the last request; versions count from 1
	sent  [recent]T // when the last requests were sent, by version
}

type state uint8

const (
	waiting state = iota
	taken
	givenUp
)

// recent is how many requests a place remembers. An entry that is older by as many requests is stale at the masters.
const recent = 8

// Ask returns the version of a request that is about to be sent to the masters.
func (p *Place[T]) Ask(now T) (version uint32) {
	p.asked++
	p.sent[p.asked%recent] = now
	return p.asked
}

// Waits reports whether grants count.
func (p *Place[T]) Waits() bool { return p.state == waiting }

// Take notes that the owner has the lock.
func (p *Place[T]) Take() { p.state = taken }

// GiveUp notes that the owner does not want the lock, or no longer. It comes before the pass of the token is sent.
func (p *Place[T]) GiveUp() { p.state = givenUp }

// A Seat is what one master is known to have granted a place.
type Seat[T Time[T]] struct {
	Granted bool
	Ends    T      // the grant lives at least until then
	Fence   uint64 // the fencing token that the master granted; 0: none, or it is not known
}

// Grant notes that a master has granted the token a lease. A version names the request that the grant answers, directly or
// by a push. The lease counts from before that request was sent. It is the master's lease, less the drift allowance. Grant
// reports whether the grant counts: the version is of a request that was sent, and the place waits.
func (p *Place[T]) Grant(s *Seat[T], version uint32, lease time.Duration, fence uint64) bool {
	if p.state != waiting || version == 0 || version > p.asked || p.asked-version >= recent {
		return false
	}
	ends := p.sent[version%recent].Add(lease)
	if !s.Granted || s.Ends.Before(ends) {
		s.Granted, s.Ends = true, ends
	}
	s.Fence = max(s.Fence, fence)
	return true
}

// Live returns the masters whose grants count now, one bit each. With fencing a grant without a fencing token is none.
func Live[T Time[T]](seats []Seat[T], now T, fenced bool) (live uint64) {
	for m, s := range seats {
		if s.Granted && !s.Ends.Reached(now) && (s.Fence > 0 || !fenced) {
			live |= 1 << m
		}
	}
	return live
}

// MayTake reports whether a waiter may ask to be granted: a quorum of masters is free or has its token. Both are as of the
// last answers of masters that vote, one bit each.
func MayTake(free, own uint64, quorum int) bool { return bits.OnesCount64(free|own) >= quorum }

// Valid returns until when a quorum of the live grants lives. It reports false if they are no quorum.
func Valid[T Time[T]](seats []Seat[T], live uint64, quorum int) (until T, ok bool) {
	var ends [64]T
	n := 0
	for m, s := range seats {
		if live&(1<<m) != 0 {
			ends[n] = s.Ends
			n++
		}
	}
	if n < quorum {
		return until, false
	}
	slices.SortFunc(ends[:n], func(a, b T) int {
		switch {
		case a.Before(b):
			return 1
		case b.Before(a):
			return -1
		}
		return 0
	})
	return ends[quorum-1], true
}
