package pipeline

import (
	"errors"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/quorum"
)

// A part is what one master sends of a round: all of it or, where the master is late,
// what has not come to an end meanwhile, and no acquires where it must wait. Its
// answers become votes in the round.
type part struct {
	r     *round
	*load       // the round's own, or the rest of it
	index []int // by entry of the load: its place in the round; nil for the round's own
}

// lateFrom is how many rounds must wait for a master before it looks for what it need
// not be sent any more.
const lateFrom = 4

// errOver is why a late master gave no vote to a lock that came and went meanwhile.
var errOver = errors.New("was not asked in time")

func (r *round) whole() part { return part{r: r, load: &r.load} }

// parts returns what m is to send of the rounds that have waited for it, all that
// there are from the first of them on. A lock whose acquire and release both wait is
// not sent: the master has never heard of it, and so has nothing to give back.
// Without this, a master that is late has all that the others did in the meantime
// done at once, and the machine waits for it (make faults: at 64 workers and 50 ms, a
// p99 three times as long). A master that must wait before it votes is not sent the
// acquires either, but all releases: one that finds nothing does no harm.
func (m *master) parts(rounds []*round) []part {
	parts := m.sending[:0]
	var over map[string]bool // the tokens of locks that came and went
	if len(rounds) >= lateFrom {
		over = make(map[string]bool)
		for _, r := range rounds {
			for i := range r.entries {
				if q := &r.entries[i]; q.Op == Release && q.Round >= rounds[0].seq {
					over[q.Token] = true
				}
			}
		}
	}
	waits := m.waits()
	for _, r := range rounds {
		if len(over) == 0 && waits == nil {
			parts = append(parts, r.whole())
			continue
		}
		parts = append(parts, r.without(m, func(q *Request) error {
			switch {
			case over[q.Token]:
				return errOver
			case q.Op == Acquire:
				return waits
			}
			return nil
		}))
	}
	return parts
}

// waits returns why the master is not to be sent acquires, or nil if it is. Only one
// that has to wait reads the clock.
func (m *master) waits() error {
	if m.admission.votesFrom.IsZero() {
		return nil
	}
	err := m.admission.waits(time.Now())
	if err == nil {
		m.p.mu.Lock()
		m.admission.votesFrom = time.Time{}
		m.p.mu.Unlock()
	}
	return err
}

// without returns the part of the round that nothing speaks against, and casts m's
// unknown votes, with that cause, for the rest.
func (r *round) without(m *master, against func(*Request) error) part {
	rest := part{r: r, load: new(load)}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.entries {
		if cause := against(&r.entries[i]); cause != nil {
			r.causes[m.index] = cause
			r.voteLocked(m, i, quorum.Unknown)
			continue
		}
		rest.entries = append(rest.entries, r.entries[i])
		rest.index = append(rest.index, i)
	}
	rest.seal()
	return rest
}

// voteLocked votes for entry i of the part.
func (p *part) voteLocked(m *master, i int, v quorum.Vote) {
	if p.index != nil {
		i = p.index[i]
	}
	p.r.voteLocked(m, i, v)
}

// read turns one master's replies to the commands from first on into votes. It
// returns the commands that a missing script kept from being executed (their
// entries have no vote yet), the releases that failed, and the error with which
// the master said that it is not fit to serve.
func (p *part) read(m *master, first int, replies []rueidis.RedisResult) (missing []int, failed []int, sick error) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for i := range replies {
		noScript, f, err := p.readLocked(m, first+i, replies[i])
		if noScript {
			missing = append(missing, first+i)
		}
		failed = append(failed, f...)
		if err != nil {
			sick = err
		}
	}
	return missing, failed, sick
}

func (p *part) readLocked(m *master, c int, reply rueidis.RedisResult) (noScript bool, failed []int, sick error) {
	from, to := p.entriesOf(c)
	unknown := func(i int, err error) {
		p.r.causes[m.index] = err
		if p.entries[i].Op == Release {
			failed = append(failed, i)
		}
		if isSick(err) {
			sick = err
		}
		p.voteLocked(m, i, quorum.Unknown)
	}
	if !p.folded {
		switch v, err := plainVote(p.entries[from].Op, reply); {
		case isNoScript(err):
			noScript = true
		case err != nil:
			unknown(from, err)
		default:
			p.voteLocked(m, from, v)
		}
		return noScript, failed, sick
	}
	votes, fault, err := batchVotes(reply, to-from)
	if isNoScript(err) {
		return true, nil, nil
	}
	for i := from; i < to; i++ {
		switch {
		case err != nil:
			unknown(i, err)
		case votes[i-from] == '1':
			p.voteLocked(m, i, quorum.Granted)
		case votes[i-from] == '0':
			p.voteLocked(m, i, quorum.Refused)
		default:
			unknown(i, fault)
		}
	}
	return false, failed, sick
}

// fail casts an unknown vote for every entry: the master was not asked, or its
// answer never came.
func (p *part) fail(m *master, err error) {
	for c := range p.ends {
		p.failCommand(m, c, err)
	}
}

// failCommand casts an unknown vote for the entries of one command, and returns
// the releases among them.
func (p *part) failCommand(m *master, c int, err error) (releases []int) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.causes[m.index] = err
	from, to := p.entriesOf(c)
	for i := from; i < to; i++ {
		if p.entries[i].Op == Release {
			releases = append(releases, i)
		}
		p.voteLocked(m, i, quorum.Unknown)
	}
	return releases
}
