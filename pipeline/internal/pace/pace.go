package pace

import (
	"time"

	"muxlock/pipeline/internal/conn"
)

// A Pace is what a master has been measured to do, and what follows for what it is sent.
// It is pure: no clock, no I/O; guarded by Pipeline.mu.
//
// The budget bounds how many requests are on the wire at once: as many as it answers in a
// part of the timeout. So a master is never given more than it can answer in time,
// whatever waits, and one that misses its time is silent, not overworked.
//
// The window bounds how many writes are. To a master that is near, or that a mean round
// keeps busy for far longer than the round trip takes, it is one: an earlier round would
// only wait there, and fewer, larger rounds cost everybody less. To one that is far, it is
// as many as keep the connection filled: a call is sent at once, and does not wait for a reply
// to come back.
type Pace struct {
	timeout time.Duration

	cost     float64          // ns per request, smoothed
	meanSize float64          // requests in a flight, smoothed
	Base     [2]time.Duration // least time of a small write: in this period, and in the one before
	Period   time.Time        // when this period ends
}

const (
	// BudgetPart is the part of the timeout that what is on the wire may take.
	BudgetPart = 4
	// A write carries up to leastBudget requests, however slow the master, and there are
	// never more than mostBudget on the wire.
	LeastBudget = 256
	mostBudget  = 1 << 14

	// near is up to which time to a master and back one write at a time is best; the same
	// if it is less than a part of what a round takes there. spacing is the least time
	// between two writes to one that is further away.
	near       = 200 * time.Microsecond
	nearPart   = 4
	spacing    = 125 * time.Microsecond
	MostWindow = 32

	// FirstCost is assumed before anything has been measured; it is ten times the common cost.
	FirstCost = 40 * float64(time.Microsecond)
	// basePeriod is how long the least time counts, once to twice: a way that has become
	// longer is noticed after that, one that has become shorter at once.
	basePeriod = 30 * time.Second
	// manyRequests is from how many on the cost of one is measured by the time of a write.
	manyRequests = 16
)

func New(timeout time.Duration) Pace { return Pace{timeout: timeout, cost: FirstCost} }

// Answered notes n requests: took is the time since they were sent, ahead how many were on
// the wire then and had to be answered first.
func (p *Pace) Answered(n, ahead int, took time.Duration, now time.Time) {
	p.meanSize += (float64(n) - p.meanSize) / 8
	if n < conn.FoldFrom {
		p.NoteBase(took, now)
		return
	}
	if n < manyRequests {
		return
	}
	cost := float64(max(took-p.RoundTrip(), 1)) / float64(n+ahead)
	p.cost += (cost - p.cost) / 8
}

func (p *Pace) NoteBase(took time.Duration, now time.Time) {
	if now.After(p.Period) {
		p.Base[1], p.Base[0] = p.Base[0], 0
		p.Period = now.Add(basePeriod)
	}
	if p.Base[0] == 0 || took < p.Base[0] {
		p.Base[0] = took
	}
}

// RoundTrip is the time to the master and back, as far as it is known; 0: unknown.
func (p *Pace) RoundTrip() time.Duration {
	if p.Base[1] == 0 || p.Base[0] != 0 && p.Base[0] < p.Base[1] {
		return p.Base[0]
	}
	return p.Base[1]
}

// Budget is how many requests may be on the wire.
func (p *Pace) Budget() int {
	n := float64(p.timeout/BudgetPart) / p.cost
	return int(min(max(n, LeastBudget), mostBudget))
}

// Window is how many writes may be on the wire.
func (p *Pace) Window() int {
	trip, round := p.RoundTrip(), time.Duration(p.meanSize*p.cost)
	if trip <= near || trip < round/nearPart {
		return 1
	}
	round = max(round, spacing)
	return min(1+int((trip+round-1)/round), MostWindow)
}
