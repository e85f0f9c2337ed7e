package engine

import (
	"strconv"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// This file has the holder's side of a line: whether a name is passed on, and how. place.go has the waiter's.

const (
	// Where processes pass the name on, a holder leaves it open opensPerSecond times a second, and opensToSeen times for
	// as long as a sighting is remembered. Who knows of one tells the next in line.
	opensPerSecond = 2
	opensToSeen    = 20
	sightingMemory = 10 * time.Second
)

// passLocked says how a lock is passed on: to whom, whether it is left open to strangers first, and when one was seen.
func (l *lease) passLocked(now clock.Instant) *pipeline.Line {
	n, often, word := l.state, opensPerSecond, ""
	if ago := now.Sub(n.strangers.seen); !n.strangers.seen.IsZero() && ago < sightingMemory {
		often, word = opensToSeen, strconv.FormatInt(ago.Milliseconds(), 10)
	}
	turn := now.Sub(l.term.Since) + l.e.masters.roundTrip()
	if time.Duration(fastrand.Uint32n(uint32(time.Second/time.Microsecond)))*time.Microsecond < turn*time.Duration(often) {
		return &pipeline.Line{Open: true, Word: word}
	}
	line := &pipeline.Line{Word: word}
	if n.named != nil {
		line.Named, n.named = *n.named, nil
	}
	return line
}

// sightingAt returns when a stranger was seen, from what the holder before says; zero: it does not say.
func sightingAt(word string, now clock.Instant) clock.Instant {
	ms, err := strconv.ParseUint(word, 10, 31)
	if ago := time.Duration(ms) * time.Millisecond; err == nil && ago < sightingMemory {
		return now.Add(-ago)
	}
	return clock.Instant{}
}

// stoodInLine notes that this process got the name in line, when a stranger was seen, and who is next.
func (n *nameState) stoodInLine(strange clock.Instant, next *[2]string) {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	n.lined, n.named, n.strangers.seen = true, next, clock.Later(n.strangers.seen, strange)
}

// passed notes what became of a lock that was to be passed on. If nobody was in line, it is released as usual from now on.
func (n *nameState) passed(e *Engine, req pipeline.Request, out pipeline.Outcome) {
	switch {
	case req.Op != pipeline.Pass || out.Verdict != quorum.Won:
	case out.PassedOn == 0:
		n.notLined()
	case !req.Line.Open:
		e.record.counts.passedOn.Add(1)
	}
}

// notLined notes that nobody stands in line, or cannot. A lock that this process has by now was got in line.
func (n *nameState) notLined() {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	n.lined = n.lined && n.Lease != nil
}
