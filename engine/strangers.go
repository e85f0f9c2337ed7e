package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/redlock"
	"muxlock/internal/token"
)

// Clients of other libraries on the same masters, such as Redsync, are strangers. They poll. Engines
// hand a name over and are notified of it, so a stranger would find it free once in fifty times. So an
// engine leaves a name alone for a while longer where it saw a stranger have it:
//
//	refused, after terms of our own --spot: whose value is it?--> a stranger's: seen
//	before the next attempts --gap, while one was seen lately--> the stranger finds it free, or not
//
// Where processes stand in line, the holder leaves the name open to them instead (pass.go).
//
// Where there are engines only, spotting is rare and there is no gap, so this costs nothing. A stranger
// shows by its value: the tokens of engines have a form (token.Ours).

const (
	// spotPeriod is the least time between two times that an engine spots. Each costs a master some 10 us.
	spotPeriod = 10 * time.Millisecond
	// strangerMemory is for how long after a stranger was seen an engine keeps gaps. It is also for how long
	// after a term of its own a process spots strangers.
	strangerMemory = 2 * time.Second
)

// spot notes whether a stranger has the name, after an attempt that was refused. A process that never had a
// term of its own keeps nobody from the name, and need not spot.
func (c *contender) spot(ctx context.Context) {
	e, n, now := c.e, c.state, clock.Now()
	n.shard.mu.Lock()
	due := !n.strangers.yielded.IsZero() && now.Sub(n.strangers.yielded) < strangerMemory
	n.shard.unlock()
	last := e.spotted.Load()
	if !due || now.Sub(e.began) < time.Duration(last)+spotPeriod || !e.spotted.CompareAndSwap(last, int64(now.Sub(e.began))) {
		return
	}
	c.others.holder = cmp.Or(c.spotNow(ctx), c.others.holder)
}

// spotNow notes whether a stranger has the name, and returns a token of who has it. Several calls may run at once.
func (c *contender) spotNow(ctx context.Context) (holder string) {
	n, now := c.state, clock.Now()
	ctx, cancel := context.WithTimeout(ctx, max(spotPeriod, 4*c.e.masters.roundTrip()))
	defer cancel()
	values, _ := c.e.masters.at(c.name).Inspect(ctx, c.name)
	for _, v := range values {
		holder = cmp.Or(v.Token, holder)
		if v.Token != "" && !token.Ours(v.Token) {
			n.shard.mu.Lock()
			n.strangers.seen = now
			n.shard.unlock()
			return holder
		}
	}
	return holder
}

// gap returns for how long to leave the name alone now: 0 unless a stranger was seen.
func (c *contender) gap() time.Duration {
	n, now := c.state, clock.Now()
	n.shard.mu.Lock()
	seen := !n.strangers.seen.IsZero() && now.Sub(n.strangers.seen) < strangerMemory
	n.shard.unlock()
	if !seen || c.others.gaps == redlock.MostGaps {
		return 0
	}
	c.others.gaps++
	from, to := redlock.StrangersGap(c.e.cfg.HandOverTime)
	return redlock.Jitter(from, to, fastrand.Uint32n)
}
