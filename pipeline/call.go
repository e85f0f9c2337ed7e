package pipeline

import (
	"sync/atomic"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// What a connection carries, and callers of the pipeline meet.
type (
	Op          = conn.Op
	Origin      = conn.Origin
	Request     = conn.Request
	Master      = conn.Master
	MasterError = conn.MasterError
)

const (
	Acquire = conn.Acquire
	Extend  = conn.Extend
	Release = conn.Release

	OriginForeign  = conn.OriginForeign
	ReservedPrefix = conn.ReservedPrefix
)

var (
	ErrDenied   = conn.ErrDenied
	ErrRegister = conn.ErrRegister
)

// What operators do to masters, and why a master may not vote: package membership has it.
type (
	Setup  = membership.Setup
	Member = membership.Member
)

var (
	Init    = membership.Init
	Replace = membership.Replace
	Members = membership.Members

	ErrRefused        = membership.ErrRefused
	ErrMembersLost    = membership.ErrMembersLost
	ErrConfigMismatch = membership.ErrConfigMismatch
	ErrRestarted      = membership.ErrRestarted
)

// Outcome is the votes when the verdict fell.
type Outcome struct {
	Verdict quorum.Verdict
	Tally   quorum.Tally
	Origin  Origin        // of a lock that the request acquired
	Sent    clock.Instant // before the first byte of it was sent; zero if none was
	// Of a fenced acquire that is won: its token, and who granted it and who stores it, as
	// fencing.Decide has them.
	Fence           uint64
	Granted, Stored uint64
	Causes          []MasterError // of the unknown votes; only when the verdict is not Won
	Denied          error         // a MasterError that matches ErrDenied, if a master's ACL forbids the name; only when not Won
}

// A call is one caller's parked request.
//
//	waiting --a master's vote--> decided    (the voter wrote out and signals done)
//	        --its caller-------> abandoned  (nobody reads out; left to the collector)
//
// One compare-and-swap away from waiting decides between the two. The caller of a decided
// call puts it back into the pool, in Do; rounds drop it before they signal.
type call struct {
	req   Request
	round uint64 // set when a round takes the call; guarded by Pipeline.mu
	state atomic.Uint32
	out   Outcome       // written by the voter before done
	done  chan struct{} // capacity 1, one signal per use; nil when nobody waits
	to    Receiver      // of a call that was started; nil of others
	until time.Time     // when its caller leaves; zero: not known

	// Its place in the queue; guarded by Pipeline.mu.
	queued     bool
	prev, next *call
}

// A Receiver is notified of the outcome of a request that was started. Both are called once,
// in this order, under locks of the pipeline: they must neither block nor call it.
type Receiver interface {
	Decided(Outcome)     // the verdict
	Counted(granted int) // every master has voted: so many granted
}

const (
	waiting uint32 = iota
	decided
	abandoned
)

// newCall makes a call for the pool of a pipeline. A pipeline has its own, because a call holds
// a channel, which must not travel between testing/synctest bubbles.
func newCall() any { return &call{done: make(chan struct{}, 1)} }

// decide hands the outcome to the caller, if one still waits for it.
func (c *call) decide(out Outcome) {
	if c.done == nil || !c.state.CompareAndSwap(waiting, decided) {
		return
	}
	c.out = out
	c.done <- struct{}{}
}
