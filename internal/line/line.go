// Package line holds the rules of a line of processes that wait for one name at N masters. Values in, values out: no
// clock, no I/O, no goroutine. The engine and the model checker (internal/testing/model) call the same functions.
//
// A waiter's token stands in line at every master. That is a standing acquire: consent, with a lease, to be granted at
// any later time. A master grants it when the holder before passes the lock on, or when the waiter asks and the name is
// free. The owner has the lock once a quorum of grants lives. Validity counts from before the request was sent that the
// grant answers, as if a SET NX had been slow. So whoever is granted, named or skipped, and in which order, is no matter
// of safety. At each master a token stands in line once, and is granted at most once until it counts. Then its holder may
// set it again where a master lost it.
package line

import "time"

// Time is an instant on the owner's own clock.
type Time[T any] interface {
	comparable // the zero value is none
	Before(T) bool
	Reached(now T) bool
	Left(now T) time.Duration
	Add(time.Duration) T
}

// A Place is a token's place in line. Grants count until it ends: the owner has the lock, or does not want it. It ends before
// the token's own pass is sent, which removes what is at the masters.
type Place[T Time[T]] struct {
	Ended   bool
	version uint32    // of the last request; versions count from 1
	sent    [recent]T // when the last requests were sent, by version
}

// recent is how many requests a place remembers. An entry that is older by as many requests is stale at the masters.
const recent = 8

// A Seat is what one master is known to have granted a place.
type Seat[T Time[T]] struct {
	Ends  T      // the grant lives at least until then; zero: there is none
	Fence uint64 // the fencing token that the master granted; 0: none, or it is not known
}

// Grant notes that a master has granted the token a lease. A version names the request that the grant answers, directly or
// by a push. The lease counts from before that request was sent. It is the master's lease, less the drift allowance. Grant
// reports whether the grant counts: the version is of a request that was sent, and the place has not ended.
func (p *Place[T]) Grant(s *Seat[T], version uint32, lease time.Duration, fence uint64) bool {
	if p.Ended || version == 0 || version > p.version || p.version-version >= recent {
		return false
	}
	if ends := p.sent[version%recent].Add(lease); s.Ends == *new(T) || s.Ends.Before(ends) {
		s.Ends = ends
	}
	s.Fence = max(s.Fence, fence)
	return true
}

// valid returns until when a quorum of the live grants lives. It reports false if they are no quorum.
func valid[T Time[T]](seats []Seat[T], live uint64, quorum int) (until T, ok bool) {
	for _, s := range seats {
		n := 0
		for other, o := range seats {
			if live&(1<<other) != 0 && !o.Ends.Before(s.Ends) {
				n++
			}
		}
		if n >= quorum && (!ok || until.Before(s.Ends)) {
			until, ok = s.Ends, true
		}
	}
	return until, ok
}
