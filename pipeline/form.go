package pipeline

import (
	"slices"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/limits"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/pace"
)

const (
	// A round waits for no master that takes more than promptFactor times as long as the fastest.
	promptFactor = 4
	// mostInRound bounds a round, and so the wait of the first calls of the next round.
	mostInRound = 4096
)

// formLocked makes rounds of the queue while there is room for them.
func (p *Pipeline) formLocked() {
	for p.shouldFormLocked() {
		p.formOneLocked()
	}
	p.checkDrainedLocked()
}

// shouldFormLocked reports whether a round is formed now. A few calls go out as soon as a quorum of
// masters has room. Many calls wait for all but one of the prompt masters: fewer, larger rounds
// cost everybody less (BenchmarkCycle: 15 % at 64 workers). No round waits for a master that is
// several times slower than the fastest. If a quorum needs a resting master, the round waits for its dial.
func (p *Pipeline) shouldFormLocked() bool {
	queued := p.queue.len()
	if queued == 0 {
		return false
	}
	rooms, here := 0, p.up
	for _, m := range p.masters {
		switch {
		case m.hasRoomLocked():
			rooms++
		case m.resting && !p.closed:
			here++
			m.wakeLocked()
		}
	}
	if rooms < min(p.quorum, here) {
		return false
	}
	if queued < conn.FoldFrom || rooms == p.up {
		return true
	}
	fastest := p.cfg.Timeout
	for _, m := range p.masters {
		if m.up {
			fastest = min(fastest, m.took)
		}
	}
	prompt := 0
	for _, m := range p.masters {
		if m.up && m.took <= promptFactor*fastest {
			prompt++
		}
	}
	return rooms >= prompt-1
}

// roundLimitLocked returns how many calls a round may take now: as many as can go out at once to
// each master that has room. A slower master takes the round in pieces.
func (p *Pipeline) roundLimitLocked() int {
	most := mostInRound
	for _, m := range p.masters {
		if m.hasRoomLocked() {
			most = min(most, max(m.budget-m.onWire, pace.LeastBudget))
		}
	}
	return most
}

// roundTripLocked returns how long a quorum takes to answer a round at the moment.
func (p *Pipeline) roundTripLocked() time.Duration {
	took := make([]time.Duration, 0, limits.Masters)
	for _, m := range p.masters {
		if m.up {
			took = append(took, m.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(p.quorum, len(took))-1]
}

// takeNextLocked takes the next call of a class into the round, or all of its joint request. It returns how many it took;
// 0: it dropped them, since a caller goes away.
func (p *Pipeline) takeNextLocked(r *round, l *callList, late time.Time) (taken int) {
	unit, leaves := 0, false
	for c := l.first; c != nil && (unit == 0 || c.req.Joint != 0 && c.req.Joint == l.first.req.Joint); c = c.next {
		unit++
		leaves = leaves || !c.req.Op.Ends() && (c.state.Load() == abandoned || !c.until.IsZero() && c.until.Before(late)) || c.req.Heal && c.to.Over()
	}
	for range unit {
		c := l.first
		p.dequeueLocked(c)
		if leaves {
			continue // never sent, and nothing to undo
		}
		if p.set != nil && !c.req.Shared && (c.req.Op.Takes() || c.req.Op == Pass) {
			c.req.Fence = max(c.req.Fence, p.set.Propose(c.req.Name))
		}
		r.add(c)
		taken++
	}
	return taken
}

// formOneLocked makes a round. If more calls wait than the round takes, calls whose callers leave
// before an answer could come are dropped: an overloaded pipeline spends no round on locks that
// nobody waits for.
func (p *Pipeline) formOneLocked() {
	r := rounds.Get().(*round)
	r.masters, r.seq, r.formed = p.masters, p.seq+1, clock.Now()
	most := p.roundLimitLocked()
	var late time.Time // a caller that leaves before late gets no answer in time
	if p.queue.len() > most {
		late = time.Now().Add(p.roundTripLocked())
	}
	for class, n := range p.queue.shares(most) {
		for n > 0 && p.queue.classes[class].first != nil {
			n -= p.takeNextLocked(r, &p.queue.classes[class], late)
		}
	}
	if len(r.calls) == 0 {
		r.recycle()
		return
	}
	now := time.Now()
	p.seq, p.formed = r.seq, now
	p.stats.Rounds++
	p.stats.Requests += uint64(len(r.entries))
	p.stats.LargestRound = max(p.stats.LargestRound, len(r.entries))
	r.fenced = p.set != nil
	_, r.foreign = p.foreignLocked()
	asked := 0
	for _, m := range p.masters {
		r.unasked = append(r.unasked, m.whyNotAskedLocked(r, now))
		if r.unasked[m.index] == nil {
			asked++
		}
	}
	r.begin(asked)
	r.open++ // until all masters have taken it: a master that is sent nothing leaves at once
	for _, m := range p.masters {
		if r.unasked[m.index] == nil {
			m.takeLocked(r, now)
		}
	}
	r.leave()
}
