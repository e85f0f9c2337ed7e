package pipeline

import (
	"errors"
	"slices"
	"sync"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
)

// A round is one batch on its way to all masters. It is encoded once per dialect, and written by the
// goroutine that formed it or by the master's writer. It has its own copy of the requests: a decided
// call belongs to its caller again while slower masters are still to answer.
type round struct {
	seq     uint64
	formed  clock.Instant // before anything was sent
	masters []*master     // of the pipeline
	entries []Request     // releases first, then extends, then acquires; fixed once it is formed
	fenced  bool          // the acquires are fenced
	plain   int           // acquires that MSETEX may carry
	foreign bool          // masters of other sets leave no quorum
	lined   bool          // it has a Wait or a Pass
	intends bool          // it has an Intend
	heals   bool          // it has a heal
	loads   []*conn.Load  // the entries, by dialect and channel; between len and cap, loads for reuse
	unasked []error       // by master: why it was not asked; nil: it was. Fixed before begin
	away    uint64        // the masters that were not asked, one bit each; fixed by begin

	mu      sync.Mutex    // guards the following
	calls   []*call       // by entry; nil: it needs no more votes
	ballots []ballot      // by entry
	grants  []uint64      // by entry and master: the fencing token granted; empty without fencing
	causes  []error       // by entry and master: why a master that was asked gave no vote; empty: all gave one
	listed  []MasterError // the causes of the masters that were not asked; nil: nobody needed them yet
	open    int           // masters that have not left it; the last one recycles the round
}

// A ballot has the masters' votes on an entry.
type ballot struct {
	tally    quorum.Tally
	granted  uint64 // the masters that granted, one bit each
	passedOn uint8  // how many masters passed the lock on
	held     uint8  // of a Set or a reader: how many masters refused it for this name
	unknown  uint64 // the masters with an unknown vote, one bit each
}

var rounds = sync.Pool{New: func() any { return new(round) }}

// add takes a call into the round. The caller holds Pipeline.mu.
func (r *round) add(c *call) {
	c.round = r.seq
	r.calls = append(r.calls, c)
	r.entries = append(r.entries, c.req)
	r.heals = r.heals || c.req.Heal
	if c.req.Op == Acquire && !c.req.Contended && !c.req.Shared && !c.req.OneOf {
		r.plain++
	}
	if c.req.Op == Wait || c.req.Op == Pass {
		r.lined = true
	}
	r.intends = r.intends || c.req.Op == Intend
}

// begin casts the unknown votes of the masters that are not asked; asked is how many are. It is
// called once, before any master sees the round.
func (r *round) begin(asked int) {
	r.open = asked
	for m, err := range r.unasked {
		if err != nil {
			r.away |= 1 << m
		}
	}
	unasked := ballot{tally: quorum.Tally{Unknown: uint8(len(r.masters) - asked)}, unknown: r.away}
	for range r.entries {
		r.ballots = append(r.ballots, unasked)
	}
	if r.fenced {
		r.grants = slices.Grow(r.grants, len(r.entries)*len(r.masters))[:len(r.entries)*len(r.masters)]
		clear(r.grants)
	}
	if asked < len(r.masters) {
		for i := range r.entries {
			r.decideLocked(i)
		}
	}
}

// errNotAmong is why a master is not asked, or why its answer does not count: the master granted the lock after the
// fencing token was decided, or needs no heal.
var errNotAmong = errors.New("is not among the masters whose answers count")

// voteLocked counts a vote; no answer counts in any other way.
func (r *round) voteLocked(m *master, i int, v quorum.Vote) {
	if among := r.entries[i].Among; among != 0 && among&(1<<m.index) == 0 {
		r.unknownLocked(m, i, errNotAmong)
		return
	}
	if v == quorum.Granted {
		r.ballots[i].granted |= 1 << m.index
	}
	r.ballots[i].tally.Add(v)
	r.decideLocked(i)
}

// unknownLocked counts a vote that is neither a yes nor a no.
func (r *round) unknownLocked(m *master, i int, cause error) {
	if n := len(r.entries) * len(r.masters); len(r.causes) == 0 {
		r.causes = slices.Grow(r.causes, n)[:n]
	}
	r.causes[i*len(r.masters)+m.index] = cause
	b := &r.ballots[i]
	b.tally.Add(quorum.Unknown)
	b.unknown |= 1 << m.index
	r.decideLocked(i)
}

func (r *round) decideLocked(i int) {
	c := r.calls[i]
	if c == nil {
		return
	}
	verdict := r.ballots[i].tally.Verdict(len(r.masters))
	if verdict == quorum.Pending {
		return
	}
	if c.to != nil {
		r.notifyLocked(i, verdict)
		return
	}
	r.calls[i] = nil
	c.decide(r.outcomeLocked(i, verdict))
}

// notifyLocked notifies a receiver of the verdict and, with the last vote, of the count.
func (r *round) notifyLocked(i int, verdict quorum.Verdict) {
	c := r.calls[i]
	if c.state.CompareAndSwap(waiting, decided) {
		c.to.Decided(r.outcomeLocked(i, verdict))
	}
	if b := &r.ballots[i]; b.tally.Votes() == len(r.masters) {
		r.calls[i] = nil
		c.to.Counted(b.granted, (1<<len(r.masters)-1)&^(b.granted|b.unknown))
	}
}

func (r *round) outcomeLocked(i int, verdict quorum.Verdict) Outcome {
	b := &r.ballots[i]
	out := Outcome{Verdict: verdict, Tally: b.tally, PassedOn: int(b.passedOn), Held: int(b.held), Origin: conn.InRound(r.seq), Sent: r.formed}
	if verdict == quorum.Won && len(r.grants) > 0 && r.entries[i].Op == Acquire && !r.entries[i].Shared {
		out.Fence, out.Granted, out.Stored = fencing.Decide(r.grants[i*len(r.masters):][:len(r.masters)])
	}
	if verdict != quorum.Won && out.Tally.Unknown > 0 {
		out.Causes, out.Mismatched = r.causesLocked(i), r.foreign
		for _, c := range out.Causes {
			if conn.IsAs(ErrDenied, c.Err) {
				out.Denied = c
			}
		}
	}
	return out
}

// causesLocked lists why masters gave no vote on an entry. Calls share a list of the masters that were
// not asked.
func (r *round) causesLocked(i int) (list []MasterError) {
	unknown := r.ballots[i].unknown
	if unknown == r.away && r.listed != nil {
		return r.listed
	}
	for m, err := range r.unasked {
		if unknown&(1<<m) == 0 {
			continue
		}
		if err == nil {
			err = r.causes[i*len(r.masters)+m]
		}
		list = append(list, MasterError{Master: r.masters[m].address, Err: err})
	}
	if unknown == r.away {
		r.listed = list
	}
	return list
}

// leave is the last act of each asked master on the round. The caller holds Pipeline.mu.
func (r *round) leave() {
	r.mu.Lock()
	r.open--
	last := r.open == 0
	r.mu.Unlock()
	if last {
		r.releaseSurplus()
		r.recycle()
	}
}

// releaseSurplus releases each name of a choice that did not win, but that a master granted or may have. All have voted.
func (r *round) releaseSurplus() {
	for i := range r.entries {
		if !r.entries[i].OneOf {
			continue
		}
		if q, b := r.entries[i], &r.ballots[i]; (b.tally.Granted > 0 || b.unknown&^r.away != 0) && b.tally.Verdict(len(r.masters)) != quorum.Won {
			q.Op, q.Joint, q.OneOf, q.Origin = Release, 0, false, conn.InRound(r.seq)
			_ = r.masters[0].p.queueLocked(&call{req: q})
		}
	}
}

// recycle gives the round back to the pool; nobody else holds it.
func (r *round) recycle() {
	clear(r.entries)
	clear(r.calls)
	clear(r.causes)
	clear(r.unasked)
	for _, l := range r.loads {
		l.Batch.Reset()
		*l = conn.Load{Batch: l.Batch, Commands: l.Commands[:0], Names: l.Names}
	}
	*r = round{
		entries: r.entries[:0], loads: r.loads[:0],
		calls: r.calls[:0], ballots: r.ballots[:0], grants: r.grants[:0], causes: r.causes[:0], unasked: r.unasked[:0],
	}
	rounds.Put(r)
}
