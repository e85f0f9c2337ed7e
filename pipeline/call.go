package pipeline

import (
	"sync/atomic"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// Callers of the pipeline need these names of its internal packages. Setup, Init, Replace and
// Members are what operators do to masters.
type (
	Op          = conn.Op
	Origin      = conn.Origin
	Request     = conn.Request
	Line        = conn.Line
	Answer      = conn.Answer
	Value       = conn.Value
	Master      = conn.Master
	MasterError = conn.MasterError
	Setup       = membership.Setup
)

const (
	Acquire = conn.Acquire
	Extend  = conn.Extend
	Release = conn.Release
	Wait    = conn.Wait
	Pass    = conn.Pass
	Intend  = conn.Intend

	Readers        = conn.Readers
	OriginUnknown  = conn.OriginUnknown
	OriginForeign  = conn.OriginForeign
	ReservedPrefix = conn.ReservedPrefix
	IntentPrefix   = conn.IntentPrefix
	NoExpiry       = conn.NoExpiry
)

var (
	Init    = membership.Init
	Replace = membership.Replace
	Members = membership.Members

	ErrDenied         = conn.ErrDenied
	ErrNotALock       = conn.ErrNotALock
	ErrRegister       = conn.ErrRegister
	ErrRefused        = membership.ErrRefused
	ErrMembersLost    = membership.ErrMembersLost
	ErrConfigMismatch = membership.ErrConfigMismatch
	ErrRestarted      = membership.ErrRestarted
)

// Outcome has the verdict, and the votes at that time.
type Outcome struct {
	Verdict quorum.Verdict
	Tally   quorum.Tally
	Origin  Origin        // of the lock, if the request acquired one
	Sent    clock.Instant // before the first byte was sent; zero: none was
	// Only for a fenced acquire that is won: its token, the masters that granted, and the masters
	// that store the token, one bit each (fencing.Decide).
	Fence           uint64
	Granted, Stored uint64
	PassedOn        int           // only for a Pass: how many masters gave the lock to another token, or notified one that it is left open
	Held            int           // of a Set or a reader: how many masters refused it because this very name is held
	Causes          []MasterError // of the unknown votes; nil if the verdict is Won
	Mismatched      bool          // masters of other sets leave no quorum, whatever happens; false if Won
	Denied          error         // a MasterError that matches ErrDenied, if an ACL forbids the name; nil if Won
}

// A call is one caller's parked request.
//
//	waiting --a master's vote--> decided    (the voter writes out and signals done)
//	        --its caller-------> abandoned  (nobody reads out; the collector takes it)
//
// One compare-and-swap away from waiting decides between the two. A round drops a call before it
// signals. Then the caller puts the call back into a pool, in Do or DoMany.
type call struct {
	req   Request
	round uint64 // that has taken the call; guarded by Pipeline.mu
	state atomic.Uint32
	out   Outcome       // written by the voter before done
	done  chan struct{} // capacity 1, one signal per use, for all of a DoMany; nil: nobody waits
	among *together     // of one DoMany; nil: it is alone
	to    Receiver      // given to Start; else nil
	until time.Time     // the caller goes away then; zero: not known

	// The place in the queue; guarded by Pipeline.mu.
	queued     bool
	prev, next *call
}

// A Receiver is notified of the outcome of a request that Start took. The pipeline calls each
// method once, in this order, under its own locks: neither may block or call the pipeline.
type Receiver interface {
	Decided(Outcome)              // the verdict
	Counted(granted, gone uint64) // every master has voted; these granted, and these refused, one bit each
	Over() bool                   // for a heal that still waits: it is no more of use
}

const (
	waiting uint32 = iota
	decided
	abandoned
)

// decide hands the outcome to the caller, if one still waits for it.
func (c *call) decide(out Outcome) {
	if c.done == nil || !c.state.CompareAndSwap(waiting, decided) {
		return
	}
	c.out = out
	if c.among == nil || c.among.less(1) {
		c.done <- struct{}{}
	}
}
