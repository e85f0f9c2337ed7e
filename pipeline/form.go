package pipeline

import (
	"slices"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/pace"
)

// Forming rounds.
//
// There is no timer: a round is formed by a caller that finds enough masters with room
// for it, or by the reader whose master's answers make them enough. It is encoded once and
// handed to every master that is up (send.go).

const (
	// promptFactor is how much longer than the fastest master another may take to answer
	// and still be waited for.
	promptFactor = 4
	// mostInRound bounds a round: what comes first in the next one never waits for longer
	// than this takes.
	mostInRound = 4096
)

// formLocked makes rounds of what has arrived, for as long as there is room for them.
func (p *Pipeline) formLocked() {
	for p.shouldFormLocked() {
		p.formOneLocked()
	}
	p.checkDrainedLocked()
}

// shouldFormLocked reports whether a round is formed now. A few calls go out as soon as a
// quorum of masters has room. Many wait for all but one of the prompt masters: fewer,
// larger rounds cost everybody less (BenchmarkCycle: 15 % at 64 workers), and a master
// that is slower than the others by some factor is never waited for.
func (p *Pipeline) shouldFormLocked() bool {
	waiting := p.queue.waiting()
	if waiting == 0 {
		return false
	}
	rooms := 0
	for _, m := range p.masters {
		if m.hasRoomLocked() {
			rooms++
		}
	}
	if rooms < min(p.quorum, p.up) {
		return false
	}
	if waiting < conn.FoldFrom || rooms == p.up {
		return true
	}
	fastest := p.timeout
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

// roundLimitLocked is how many calls a round may take now: as many as go out at once to each
// master that has room. A slower one takes it in pieces.
func (p *Pipeline) roundLimitLocked() int {
	most := mostInRound
	for _, m := range p.masters {
		if m.hasRoomLocked() {
			most = min(most, max(m.budget-m.onWire, pace.LeastBudget))
		}
	}
	return most
}

// roundTripLocked is how long a quorum takes to answer a round at the moment.
func (p *Pipeline) roundTripLocked() time.Duration {
	var took [quorum.MaxMasters]time.Duration
	n := 0
	for _, m := range p.masters {
		if m.up {
			took[n] = m.took
			n++
		}
	}
	if n == 0 {
		return 0
	}
	slices.Sort(took[:n])
	return took[min(p.quorum, n)-1]
}

// formOneLocked makes a round. Where more wait than it takes, callers who leave before it
// could be answered are left out: rounds under overload are not spent on locks that nobody
// waits for any more.
func (p *Pipeline) formOneLocked() {
	r := rounds.Get().(*round)
	r.masters, r.seq, r.formed = p.masters, p.seq+1, clock.Now()
	// Releases go first, so that the script can take them all at once. Within a round
	// that changes nothing that a caller could have relied on: all of it is under way
	// at once, and a release arrives only after the round of its acquire was formed.
	most := p.roundLimitLocked()
	var late time.Time // callers that leave before then get no answer in time
	if p.queue.waiting() > most {
		late = time.Now().Add(p.roundTripLocked())
	}
	for class, n := range p.queue.shares(most) {
		for n > 0 && p.queue.classes[class].first != nil {
			c := p.queue.classes[class].first
			p.dequeueLocked(c)
			if c.req.Op != Release && (c.state.Load() == abandoned || !c.until.IsZero() && c.until.Before(late)) {
				continue // never sent, and nothing to undo
			}
			if p.set != nil && c.req.Op == Acquire {
				c.req.Fence = p.set.Propose(c.req.Name)
			}
			r.add(c)
			n--
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
	asked := 0
	for _, m := range p.masters {
		r.causes = append(r.causes, m.whyNotAskedLocked(r))
		if r.causes[m.index] == nil {
			asked++
		}
	}
	r.begin(asked)
	r.open++ // until all have taken it: one that is sent nothing of it leaves at once
	for _, m := range p.masters {
		if r.causes[m.index] == nil {
			m.takeLocked(r, now)
		}
	}
	r.leave()
}
