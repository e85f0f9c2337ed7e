// Package pace decides how much a master is sent at once. It is pure: no clock, no I/O.
//
// The budget bounds how many requests are on the wire at once: as many as the master answers in a
// part of the timeout. So no master is given more than it can answer in time, whatever waits. A
// master that misses the timeout is silent, not overworked.
//
// The window bounds how many writes are on the wire at once. It is one write to a near master, and to
// a master that a mean round keeps busy for far longer than the round trip takes. An earlier round
// would only wait there, and fewer, larger rounds cost everybody less. To a far master it is as many
// writes as keep the connection filled: a call is sent at once, and does not wait for a reply to come
// back.
package pace

import (
	"time"

	"muxlock/pipeline/internal/conn"
)

// A Pace has the measurements of one master, and derives the budget and the window.
type Pace struct {
	timeout time.Duration

	cost     float64          // ns per request, smoothed
	meanSize float64          // requests sent together, smoothed
	Base     [2]time.Duration // least time of a small write: in this period, and in the last one
	Period   time.Time        // when this period ends
}

const (
	// BudgetPart divides the timeout: all requests on the wire may take that long.
	BudgetPart = 4
	// LeastBudget is the budget of the slowest master, mostBudget the budget of the fastest.
	LeastBudget = 256
	mostBudget  = 1 << 14

	// One write at a time is best if the round trip is at most near, or is below the time of a
	// round divided by nearPart. spacing is the least time between two writes to a farther master.
	near       = 200 * time.Microsecond
	nearPart   = 4
	spacing    = 125 * time.Microsecond
	MostWindow = 32

	// FirstCost is assumed before anything was measured. It is ten times the usual cost.
	FirstCost = 40 * float64(time.Microsecond)
	// The least time counts for one to two periods of basePeriod: a longer way is noticed after that,
	// a shorter way at once.
	basePeriod = 30 * time.Second
	// manyRequests is the size from which on the time of a write measures the cost of a request.
	manyRequests = 16
)

// New returns the Pace of a master that was not measured yet.
func New(timeout time.Duration) Pace { return Pace{timeout: timeout, cost: FirstCost} }

// Answered notes that n requests were answered took after they were sent. The ahead requests that
// were on the wire before them were answered first.
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

// NoteBase notes the time of a write so small that it measures the round trip.
func (p *Pace) NoteBase(took time.Duration, now time.Time) {
	if now.After(p.Period) {
		p.Base[1], p.Base[0] = p.Base[0], 0
		p.Period = now.Add(basePeriod)
	}
	if p.Base[0] == 0 || took < p.Base[0] {
		p.Base[0] = took
	}
}

// RoundTrip returns the least time to the master and back; 0: not known.
func (p *Pace) RoundTrip() time.Duration {
	if p.Base[1] == 0 || p.Base[0] != 0 && p.Base[0] < p.Base[1] {
		return p.Base[0]
	}
	return p.Base[1]
}

// Budget returns how many requests may be on the wire.
func (p *Pace) Budget() int {
	n := float64(p.timeout/BudgetPart) / p.cost
	return int(min(max(n, LeastBudget), mostBudget))
}

// Window returns how many writes may be on the wire.
func (p *Pace) Window() int {
	trip, round := p.RoundTrip(), time.Duration(p.meanSize*p.cost)
	if trip <= near || trip < round/nearPart {
		return 1
	}
	round = max(round, spacing)
	return min(1+int((trip+round-1)/round), MostWindow)
}
