package line

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// A Waiter is a token in line, and what its owner knows. The methods are what happens to the waiter. The commands that they
// return are what its owner does next.
//
//	Join ----> in line --a quorum of grants--> Take
//	 ^          |  | ^
//	 |          |  '-' Request: some time has passed, the name may be free, or only some masters have granted
//	 '- Leave --+-- the votes are split, another has the name, or a master does not have the token
//
// A master that lost the key of a lock is free, and its key is to be the holder's again. So a request asks to be queued
// only, unless the waiter may take the name: a quorum was free or had granted the token at the last answers. A waiter that
// finds a quorum free asks again at once, so after an alarm, too: each renewal raises one. These requests may be granted
// whatever was answered: the first of a caller, since nothing is known; one after the holder's word; one of the leader of a
// split vote. What such a request is granted beside a lock is deleted, and its owner joins again.
type Waiter[K cmp.Ordered, T Time[T]] struct {
	Terms  Terms[T]
	Own    K
	Trip   time.Duration // to the masters and back
	Place  Place[T]
	Seats  []Seat[T] // by master, like Values, firsts and seconds
	Values []K       // the holder's token, as last heard
	Free   uint64    // masters that were free at the last answers, one bit each
	Queued bool      // by the last request
	Split  bool      // some masters, but not a quorum, had granted before the last request

	may             bool // the next request may be granted, whatever was answered
	firsts, seconds []K  // in line behind this token
	opened          T    // when the waiter may take a name that its holder left open; zero: no master said so
	missing         bool // at a master, which had the token in line
	watching        bool
	awaited         K    // who had the name at the last alarm
	overtaken       bool // and another at the one before: it is not passed on
	rank            int  // the lowest heard while the name was free; 0: none yet, or the first
	repeats         int  // requests after split votes
	before          []K  // Values of the token before
	stuck           int  // tokens in a row whose vote was split by the same other token
}

// Terms are the same for all tokens of an owner.
type Terms[T any] struct {
	Began           T // the wait counts from then
	TTL             time.Duration
	Masters, Quorum int
	Fenced          bool
}

// A Request is what all masters are asked.
type Request struct {
	Version uint32        // from 1
	Lease   time.Duration // that may be passed to the token, up to half as long after the request
	Stale   time.Duration // how old the entry may be when its owner is told that the name is free
	Stay    bool          // the token is in line; else it joins
	Waited  time.Duration // how long its owner has waited already, when it joins
	Told    bool          // the owner was told to ask: a free name is taken out of turn
	Queued  bool          // only queued: a free name is not granted
}

// A Command is what an owner does next.
type Command[K any] struct {
	Won      bool // Take
	Watch    bool // wait as Watch says, and then call Watched
	Spot     bool // spot strangers
	Again    bool // send the next request after a time between From and To, unless it is due sooner
	Leave    bool // pass the token: to Leader, to Nobody, else to the next in line; after such a time Join
	From, To time.Duration
	Leader   K
	Nobody   bool
}

// mostRepeats is how many requests of a leader follow on split votes.
const mostRepeats = 4

// Join returns a waiter with a fresh token. The token of w, if any, was given up.
func (w *Waiter[K, T]) Join(own K) Waiter[K, T] {
	n := w.Terms.Masters
	words := make([]K, 3*n)
	return Waiter[K, T]{
		Terms: w.Terms, Own: own, Seats: make([]Seat[T], n), Values: words[:n], firsts: words[n : 2*n], seconds: words[2*n:],
		before: w.Values, may: w.Values == nil, Free: w.Free, stuck: w.stuck, repeats: w.stuck,
	}
}

// Request returns a request that is about to be sent, and when the next is due, unless a Command makes it sooner.
func (w *Waiter[K, T]) Request(now T) (r Request, next time.Duration) {
	ttl, waited, live := w.Terms.TTL, -w.Terms.Began.Left(now), w.live(now)
	w.Place.version++
	w.Place.sent[w.Place.version%recent] = now
	r = Request{Version: w.Place.version, Lease: Passed(ttl), Stale: stale(ttl), Waited: waited}
	next = stayAfter(waited, ttl)
	if r.Told = w.isOpen() && w.opened.Reached(now); r.Told {
		w.opened = *new(T)
	} else if w.isOpen() {
		next = min(next, w.opened.Left(now))
	}
	r.Stay, r.Queued = r.Version > 1, !r.Told && !w.may && !w.mayTake(live)
	w.Free, w.may, w.Queued, w.Split = 0, false, r.Queued, live != 0
	return r, next
}

func (w *Waiter[K, T]) isOpen() bool { return w.opened != *new(T) }

// Watch returns how long to wait before a watch of the name.
func (w *Waiter[K, T]) Watch(readers K) time.Duration {
	if w.overtaken || slices.Contains(w.Values, readers) {
		return 0
	}
	return ShortHold
}

// Alarmed returns between which times to wait after an alarm, since not every release passes the name on. word is what the
// holder's message that the name is left open may take. Readers pass nothing on. Nor does a process that was never refused,
// and it comes back at once. Then the waiter is as fast, and asks to be granted.
func (w *Waiter[K, T]) Alarmed(readers K, word, spread time.Duration) (from, to time.Duration) {
	var nobody K
	if holder, _ := most(w.Values, nobody); holder != nobody {
		w.overtaken = w.awaited != nobody && holder != w.awaited
		w.awaited = holder
	}
	if w.overtaken || slices.Contains(w.Values, readers) {
		return 0, 0
	}
	return word, word + spread
}

// Watched is the end of a watch: the name may be free, or the watch has failed.
func (w *Waiter[K, T]) Watched(free bool) (c Command[K]) {
	if w.watching = false; free && !w.isOpen() {
		c.Again, w.may = true, w.may || w.overtaken
	}
	return c
}

// Answered is called when a request has ended. It decides between tokens that split the votes. The token with the most votes
// leads; of several, the least. All waiters that see the same values see the same leader.
func (w *Waiter[K, T]) Answered(now T) (c Command[K]) {
	var nobody K
	live := w.live(now)
	leader, votes := most(w.Values, nobody)
	leads := leader == w.Own
	lost := w.missing || live == 0 && w.Terms.Fenced && slices.Contains(w.Values, w.Own) // grants without their fencing tokens
	switch {
	case !lost && (live == 0 || !w.Split || w.Queued && w.mayTake(live)): // the last: it asks again at once
		return c
	case !lost && leads && w.repeats < mostRepeats:
		w.repeats++
		w.may = true
		return w.stray(w.stuck)
	}
	c.Leave, c.Nobody = true, !leads && votes >= w.Terms.Quorum
	if !lost && !leads && !c.Nobody {
		c.Leader = leader
	}
	stays := func(v K) bool { return v != nobody && slices.Contains(w.before, v) }
	if w.stuck = min(w.stuck+1, 10); c.Nobody || !w.Split || !slices.ContainsFunc(w.Values, stays) {
		w.stuck = 0
	}
	if c.Leader != nobody || w.stuck > 0 { // the leader may stand in another line, with fencing or without, or be gone
		pause := w.stray(w.stuck + 1)
		c.From, c.To = pause.From, pause.To
	}
	return c
}

// stray is the command to wait for missing grants.
func (w *Waiter[K, T]) stray(doublings int) Command[K] {
	least := min(max(shortestStray, 4*w.Trip)<<doublings, longestStray)
	return Command[K]{Again: true, From: least, To: 2 * least}
}

// Won is what a waiter has won.
type Won[K, T any] struct {
	Until  T        // a quorum of the grants lives until then
	Live   uint64   // masters whose grants live, one bit each
	Fences []uint64 // their fencing tokens
	Next   [2]K     // to pass the name to
}

// Take ends the wait if a quorum of grants lives. Else it reports false.
func (w *Waiter[K, T]) Take(now T) (won Won[K, T], ok bool) {
	won.Live = w.live(now)
	if won.Until, ok = valid(w.Seats, won.Live, w.Terms.Quorum); !ok {
		return won, false
	}
	w.Place.Ended = true
	won.Next[0], won.Next[1] = Next(w.firsts, w.seconds)
	won.Fences = make([]uint64, len(w.Seats))
	for m, s := range w.Seats {
		if won.Live&(1<<m) != 0 {
			won.Fences[m] = s.Fence
		}
	}
	return won, true
}

// live returns the masters whose grants count now, one bit each. With fencing a grant without a fencing token is none.
func (w *Waiter[K, T]) live(now T) (live uint64) {
	for m, s := range w.Seats {
		if s.Ends != *new(T) && !s.Ends.Reached(now) && (s.Fence > 0 || !w.Terms.Fenced) {
			live |= 1 << m
		}
	}
	return live
}

// mayTake reports whether the waiter may ask to be granted: a quorum of masters is free or has its token.
func (w *Waiter[K, T]) mayTake(live uint64) bool {
	return bits.OnesCount64(w.Free|live) >= w.Terms.Quorum
}

// Next returns the token to pass a lock to, and the one if that is gone. firsts and seconds are what the masters have at
// the head of their lines, the zero value where there is none. Lines differ while requests are under way, so the holder
// names one for all.
func Next[K cmp.Ordered](firsts, seconds []K) (first, second K) {
	var none K
	if first, _ = most(firsts, none); first != none {
		second, _ = most(slices.Concat(firsts, seconds), first)
	}
	return first, second
}

// most returns the value that is there most often, of several the least, and how often. The zero value does not count, nor
// does except.
func most[K cmp.Ordered](values []K, except K) (value K, votes int) {
	var none K
	for i, v := range values {
		n := 0
		for _, other := range values[i:] {
			if other == v {
				n++
			}
		}
		if v != none && v != except && (n > votes || n == votes && v < value) {
			value, votes = v, n
		}
	}
	return value, votes
}
