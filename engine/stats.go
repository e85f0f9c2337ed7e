package engine

import (
	"errors"
	"sync/atomic"

	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// Stats are counters since New and the masters' state at the moment.
type Stats struct {
	Acquired   uint64 // locks given out
	Taken      uint64 // attempts refused because somebody held the lock
	SplitVotes uint64 // attempts in which some masters granted and too many refused
	NoQuorum   uint64 // attempts that too few masters answered
	Expired    uint64 // attempts whose quorum came too late to leave validity
	Released   uint64 // releases that a quorum confirmed
	NotHeld    uint64 // releases that found the lock gone or another's
	Unreleased uint64 // releases that were not confirmed when their caller stopped waiting
	Lost       uint64 // locks whose validity ran out or that turned out to be another's

	Pipeline pipeline.Stats
}

type counters struct {
	acquired, taken, split, noQuorum, expired, released, notHeld, unreleased, lost atomic.Uint64
}

func (c *counters) attempt(s step, out pipeline.Outcome) {
	switch {
	case s.hold:
		c.acquired.Add(1)
	case errors.Is(s.kind, ErrExpired):
		c.expired.Add(1)
	case out.Verdict == quorum.NoQuorum:
		c.noQuorum.Add(1)
	case out.Tally.Granted > 0:
		c.split.Add(1)
	default:
		c.taken.Add(1)
	}
}

func (c *counters) release(err error) {
	switch {
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
	c := &e.counts
	return Stats{
		Acquired: c.acquired.Load(), Taken: c.taken.Load(), SplitVotes: c.split.Load(),
		NoQuorum: c.noQuorum.Load(), Expired: c.expired.Load(), Released: c.released.Load(),
		NotHeld: c.notHeld.Load(), Unreleased: c.unreleased.Load(), Lost: c.lost.Load(),
		Pipeline: e.pipe.Stats(),
	}
}
