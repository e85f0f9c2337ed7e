package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// Clients of other libraries on the same masters, such as Redsync, are strangers. They poll. Engines
// hand a name over and are notified of it, so a stranger would find it free once in fifty times. So an
// engine leaves a name alone for a while longer where it saw a stranger have it:
//
//	refused, after terms of our own --look: whose value is it?--> a stranger's: seen
//	before the next attempts --gap, while one was seen lately--> the stranger finds it free, or not
//
// Where there are engines only, a look is rare and there is no gap, so this costs nothing. A stranger
// shows by its value: the tokens of engines have a form (token.Ours).

const (
	// lookPeriod is the least time between two looks of an engine. One costs each master some 10 us.
	lookPeriod = 10 * time.Millisecond
	// strangerMemory is for how long after a stranger was seen an engine leaves gaps. It is also for how long
	// after a term of its own a process looks for strangers.
	strangerMemory = 2 * time.Second
)

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
	if ago := now.Sub(n.stranger); !n.stranger.IsZero() && ago < sightingMemory {
		often, word = opensToSeen, strconv.FormatInt(ago.Milliseconds(), 10)
	}
	turn := now.Sub(l.since) + l.e.roundTrip()
	if time.Duration(fastrand.Uint32n(uint32(time.Second/time.Microsecond)))*time.Microsecond < turn*time.Duration(often) {
		return &pipeline.Line{Open: true, Word: word}
	}
	return &pipeline.Line{Named: l.named, Word: word}
}

// sightingAt returns when a stranger was seen, from what the holder before says; zero: it does not say.
func sightingAt(word string, now clock.Instant) clock.Instant {
	ms, err := strconv.ParseUint(word, 10, 31)
	if ago := time.Duration(ms) * time.Millisecond; err == nil && ago < sightingMemory {
		return now.Add(-ago)
	}
	return clock.Instant{}
}

// stoodInLine notes that this process got the name in line, and when a stranger was seen.
func (n *nameState) stoodInLine(strange clock.Instant) {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	n.lined, n.stranger = true, later(n.stranger, strange)
}

// later returns the later of two instants, each of which may be none.
func later(a, b clock.Instant) clock.Instant {
	if a.IsZero() || !b.IsZero() && a.Before(b) {
		return b
	}
	return a
}

// passed notes what became of a lock that was to be passed on. If nobody was in line, it is released as usual from now on.
func (n *nameState) passed(e *Engine, req pipeline.Request, out pipeline.Outcome) {
	switch {
	case req.Op != pipeline.Pass || out.Verdict != quorum.Won:
	case out.PassedOn > 0:
		e.counts.passedOn.Add(1)
	case !req.Line.Open:
		n.notLined()
	}
}

// notLined notes that nobody stands in line, or cannot. A lock that this process has by now was got in line.
func (n *nameState) notLined() {
	n.shard.mu.Lock()
	defer n.shard.unlock()
	n.lined = n.lined && n.lease != nil
}

// look notes whether a stranger has the name, after an attempt that was refused. A process that never had a
// term of its own keeps nobody from the name, and need not look.
func (c *contender) look(ctx context.Context) {
	e, n, now := c.e, c.state, clock.Now()
	n.shard.mu.Lock()
	due := !n.term.IsZero() && now.Sub(n.term) < strangerMemory
	n.shard.unlock()
	last := e.looked.Load()
	if !due || now.Sub(e.began) < time.Duration(last)+lookPeriod || !e.looked.CompareAndSwap(last, int64(now.Sub(e.began))) {
		return
	}
	c.lookNow(ctx)
}

// lookNow notes whether a stranger has the name.
func (c *contender) lookNow(ctx context.Context) {
	n, now := c.state, clock.Now()
	ctx, cancel := context.WithTimeout(ctx, max(lookPeriod, 4*c.e.roundTrip()))
	defer cancel()
	values, _ := c.e.pipe.Inspect(ctx, c.name)
	for _, v := range values {
		if v.Token != "" && !token.Ours(v.Token) {
			n.shard.mu.Lock()
			n.stranger = now
			n.shard.unlock()
			return
		}
	}
}

// gap returns for how long to leave the name alone now: 0 unless a stranger was seen.
func (c *contender) gap() time.Duration {
	n, now := c.state, clock.Now()
	n.shard.mu.Lock()
	seen := !n.stranger.IsZero() && now.Sub(n.stranger) < strangerMemory
	n.shard.unlock()
	if !seen || c.gaps == redlock.MostGaps {
		return 0
	}
	c.gaps++
	from, to := redlock.StrangersGap(c.e.cfg.HandOverTime)
	return redlock.Jitter(from, to, fastrand.Uint32n)
}
