package engine

import (
	"errors"
	"sync/atomic"

	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// Stats are counters since New and the state at the moment ("now").
type Stats struct {
	Acquired   uint64 // locks given out
	Taken      uint64 // attempts refused because somebody held the lock
	SplitVotes uint64 // attempts in which some masters granted and too many refused
	NoQuorum   uint64 // attempts that too few masters answered
	Denied     uint64 // attempts at a name that a master's ACL does not allow
	Expired    uint64 // attempts whose quorum came too late to leave validity
	Retries    uint64 // times that an Acquire asked the masters again
	Released   uint64 // releases that a quorum confirmed
	HandedOver uint64 // releases that gave the lock to the next in this process
	NotHeld    uint64 // releases that found the lock gone or another's
	Unreleased uint64 // releases that were not confirmed when their caller stopped waiting
	Lost       uint64 // locks whose validity ran out or that turned out to be another's
	Renewed    uint64 // renewals in the background that a quorum confirmed
	Unrenewed  uint64 // renewals that too few masters answered; tried again
	Waiting    int    // goroutines in line behind others of this process, now

	EventsDropped uint64 // that Observer and Logger were not told: they were too slow

	Pipeline pipeline.Stats // queue depth, rounds and their sizes, each master
}

type counters struct {
	acquired, taken, split, noQuorum, expired atomic.Uint64
	denied                                    atomic.Uint64
	released, handedOver, notHeld, unreleased atomic.Uint64
	lost, renewed, unrenewed, retries         atomic.Uint64
	overloaded                                atomic.Uint64 // at the door: the pipeline counts the others
	waiting                                   atomic.Int64
}

func (c *counters) attempt(s step, out pipeline.Outcome) {
	switch {
	case errors.Is(s.kind, ErrClosed):
	case errors.Is(s.kind, ErrExpired):
		c.expired.Add(1)
	case errors.Is(s.kind, ErrDenied):
		c.denied.Add(1)
	case out.Verdict == quorum.NoQuorum:
		c.noQuorum.Add(1)
	case out.Tally.Granted > 0:
		c.split.Add(1)
	default:
		c.taken.Add(1)
	}
}

func (c *counters) release(over bool, err error) {
	switch {
	case !over:
		c.handedOver.Add(1)
	case err == nil:
		c.released.Add(1)
	case errors.Is(err, ErrNotHeld):
		c.notHeld.Add(1)
	default:
		c.unreleased.Add(1)
	}
}

// Stats returns a snapshot; the counters are read one after the other.
func (e *Engine) Stats() Stats {
	c, p := &e.counts, e.pipe.Stats()
	p.Overloaded += c.overloaded.Load()
	return Stats{
		Acquired: c.acquired.Load(), Taken: c.taken.Load(), SplitVotes: c.split.Load(),
		NoQuorum: c.noQuorum.Load(), Denied: c.denied.Load(), Expired: c.expired.Load(), Released: c.released.Load(),
		NotHeld: c.notHeld.Load(), Unreleased: c.unreleased.Load(), Lost: c.lost.Load(),
		HandedOver: c.handedOver.Load(), Renewed: c.renewed.Load(), Unrenewed: c.unrenewed.Load(),
		Retries: c.retries.Load(), EventsDropped: e.events.count(),
		Waiting: int(c.waiting.Load()), Pipeline: p,
	}
}
