package pipeline

import (
	"errors"
	"slices"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
)

// A part is a master's share of a round: the whole round, or the round without acquires while the
// master must wait, or without obsolete requests when it is late. A slow master is sent a part a few
// commands at a time. The answers become votes in the round.
type part struct {
	r          *round
	*conn.Load       // the round's own, or the rest of one
	index      []int // by entry of the load: its place in the round; nil: the same
	next       int   // the first unsent command
	repeats    int   // how often its entries were sent before, unexecuted
	waits      error // why the master did not vote when it took the round; nil: it did
}

// untouched reports whether the master was never sent any of the entries. The entries of a repeat were sent, unexecuted.
func (p *part) untouched() bool { return p.next == 0 && p.repeats == 0 }

// compactFrom is the number of waiting parts from which on a master's obsolete requests are
// dropped.
const compactFrom = 4

// mostRepeats bounds how often a call with a missing script is repeated: somebody may flush the
// scripts between the load and the call.
const mostRepeats = 3

// errObsolete is why a late master gave no vote: the lock was acquired and released meanwhile.
var errObsolete = errors.New("was not asked in time")

// compact drops each queued acquire whose release is queued too, and the release: m was never asked
// for that lock. The release counts as granted, since m does not have the lock and never will.
// parts are all parts that wait for m; a partly sent one counts as sent. compact returns the rest,
// and the fencing registers of the dropped acquires. Without compact, a late master would execute at
// once all requests that it missed, and the machine would wait for it (make faults: at 64 workers
// and 50 ms, a p99 three times as long).
func compact(m *master, parts []part) (rest []part, spared []int) {
	from := uint64(0) // the first round of which nothing was sent
	obsolete := make(map[string]bool)
	for i := range parts {
		p := &parts[i]
		if !p.untouched() {
			continue
		}
		if from == 0 {
			from = p.r.seq
		}
		for e := range p.Entries {
			if q := &p.Entries[e]; q.Op.Ends() && q.Origin.Since(from) {
				obsolete[q.Token] = true
			}
		}
	}
	if len(obsolete) == 0 {
		return parts, nil
	}
	for i := range parts {
		parts[i].keepHalves(obsolete)
	}
	for i := range parts {
		if p := &parts[i]; p.untouched() {
			*p = p.without(m, func(q *Request) error {
				if !obsolete[q.Token] {
					return nil
				}
				if p.Fenced && q.Op.Takes() && !q.Shared {
					spared = append(spared, fencing.Register(q.Name))
				}
				return errObsolete
			})
		}
	}
	slices.Sort(spared)
	return parts, slices.Compact(spared)
}

// keepHalves takes the tokens of each partly obsolete Set out of obsolete: a Set is sent as a whole, or not at all.
// A choice is over as soon as one of its names is released: all of its tokens are obsolete.
func (p *part) keepHalves(obsolete map[string]bool) {
	for i := 0; i < len(p.Entries); {
		unit := p.Entries[i:conn.UnitEnd(p.Entries, i)]
		i += len(unit)
		isOver := func(q Request) bool { return obsolete[q.Token] }
		if !slices.ContainsFunc(unit, isOver) || !slices.ContainsFunc(unit, func(q Request) bool { return !isOver(q) }) {
			continue // none or all of it is obsolete
		}
		for _, q := range unit {
			obsolete[q.Token] = unit[0].OneOf && p.untouched()
		}
	}
}

// without returns the part without the entries for which against returns a cause. m's vote on such
// an entry is unknown, but an obsolete release is granted and an obsolete choice refused.
func (p *part) without(m *master, against func(*Request) error) part {
	rest := part{r: p.r, Load: &conn.Load{Dialect: p.Dialect, Channel: p.Channel}, waits: p.waits}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for i := range p.Entries {
		switch cause := against(&p.Entries[i]); {
		case cause == nil:
			rest.take(p, i)
		case cause == errObsolete && p.Entries[i].Op.Ends():
			p.voteLocked(m, i, quorum.Granted)
		case cause == errObsolete && p.Entries[i].OneOf: // m never grants it: nothing to release
			p.voteLocked(m, i, quorum.Refused)
		default:
			p.unknownLocked(m, i, cause)
		}
	}
	rest.Seal(m.p.set.Description())
	return rest
}

// take adds entry i of another part of the same round.
func (p *part) take(other *part, i int) {
	p.Entries = append(p.Entries, other.Entries[i])
	p.index = append(p.index, other.position(i))
}

// unknownLocked casts m's unknown vote for entry i of the part.
func (p *part) unknownLocked(m *master, i int, cause error) {
	p.r.unknownLocked(m, p.position(i), cause)
}

func (p *part) voteLocked(m *master, i int, v quorum.Vote) {
	if p.waits != nil && v == quorum.Refused && p.Entries[i].Op == Extend {
		p.unknownLocked(m, i, p.waits)
		return
	}
	p.r.voteLocked(m, p.position(i), v)
}

// position returns the place of entry i in the round.
func (p *part) position(i int) int {
	if p.index != nil {
		return p.index[i]
	}
	return i
}

// A followUp has the work that remains after the replies to some commands of a part.
type followUp struct {
	noScript  []int // commands not executed because a script was missing: no vote yet
	refused   []int // commands not executed because of the key of some entry: no vote yet
	taken     int   // granted batches of acquires
	notTaken  int   // refused batches of acquires
	failed    []int // entries: releases that failed
	dropped   int   // releases that the master's ACL forbids
	noReaders error // the master's ACL forbids an Intend
	unfit     error // a reply that shows the master unfit to serve
}

// read turns m's replies to the commands from first on into votes.
func (p *part) read(m *master, first int, replies []resp.Reply) (a followUp) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for i := range replies {
		p.readLocked(m, first+i, replies[i], &a)
	}
	return a
}

func (p *part) readLocked(m *master, c int, reply resp.Reply, a *followUp) {
	from, to := p.EntriesOf(c)
	v := &m.votes
	p.Votes(c, reply, v)
	if p.Commands[c].Kind == conn.KindMsetex && conn.UnitEnd(p.Entries, from) < to { // a Set by itself says nothing about batches
		switch v.Of[0].Says {
		case quorum.Granted:
			a.taken++
		case quorum.Refused:
			a.notTaken++
		}
	}
	switch {
	case v.Again == conn.OneEach:
		a.refused = append(a.refused, c)
		return
	case v.Again == conn.Loaded && p.repeats < mostRepeats:
		a.noScript = append(a.noScript, c)
		return
	}
	if v.Marked {
		if err := m.notMarked(v.Mark); err != nil {
			if conn.IsUnfit(err) {
				a.unfit = err
			}
			for i := from; i < to; i++ {
				p.unknownLocked(m, i, err)
			}
			return
		}
	}
	if v.Answer.Kind != 0 {
		m.p.hears(m, p.Entries[from].Token, v.Answer)
	}
	if v.PassedOn {
		p.r.ballots[p.position(from)].passedOn++
	}
	for j := range v.Of {
		p.countLocked(m, from+j, &v.Of[j], a)
	}
}

// countLocked counts a vote, or the reason why there is none.
func (p *part) countLocked(m *master, i int, v *conn.Vote, a *followUp) {
	q := &p.Entries[i]
	switch {
	case v.Err == nil && v.Fence > 0:
		m.p.set.Saw(q.Name, v.Fence)
		p.r.grants[p.position(i)*len(p.r.masters)+m.index] = v.Fence
	case v.Err == nil && v.Held:
		p.r.ballots[p.position(i)].held++
	case v.Err == nil:
	case q.Op.Ends() && conn.IsAs(conn.ErrDenied, v.Err):
		a.dropped++
	case q.Op.Ends():
		a.failed = append(a.failed, i)
	case q.Op == Intend && conn.IsForbidden(v.Err):
		a.noReaders = v.Err
	}
	if v.Unfit {
		a.unfit = v.Err
	}
	if v.Err != nil {
		p.unknownLocked(m, i, v.Err)
	} else {
		p.voteLocked(m, i, v.Says)
	}
}

// errNotRepeated is why a master gave no vote to an acquire: the master did not execute it, and its
// release is on its way.
var errNotRepeated = errors.New("was not executed, and is released already")

// repeat returns the part that asks again for the entries of commands that were not executed, each
// alone or folded. released has the tokens of locks whose release was sent or waits. An acquire of
// such a lock gets an unknown vote: it must not be granted behind its release.
func (p *part) repeat(m *master, commands []int, alone bool, released map[string]bool) part {
	rest := part{r: p.r, Load: &conn.Load{Dialect: p.Dialect, Channel: p.Channel}, repeats: p.repeats + 1, waits: p.waits}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for _, c := range commands {
		from, to := p.EntriesOf(c)
		for i := from; i < to; {
			end := conn.UnitEnd(p.Entries, i)
			late := slices.ContainsFunc(p.Entries[i:end], func(q Request) bool { return q.Op.Takes() && released[q.Token] })
			for ; i < end; i++ {
				if late {
					p.unknownLocked(m, i, errNotRepeated)
					continue
				}
				rest.take(p, i)
				q := &rest.Entries[len(rest.Entries)-1]
				q.Alone, q.Contended = alone, q.Contended || alone
			}
		}
	}
	rest.Seal(m.p.set.Description())
	p.r.open++ // the rest leaves the round, too
	return rest
}

// fail casts m's unknown votes for the commands from first to before end: m was not asked, or its
// answer never came.
func (p *part) fail(m *master, first, end int, err error) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for i := p.before(first); i < p.before(end); i++ {
		p.unknownLocked(m, i, err)
	}
}

// releases calls do with each release in the commands from first to before end.
func (p *part) releases(first, end int, do func(*Request)) {
	for i := p.before(first); i < p.before(end); i++ {
		if q := &p.Entries[i]; q.Op.Ends() {
			do(q)
		}
	}
}

// fit returns the end of the commands to be sent next: as many as carry at most most requests, and
// at least one.
func (p *part) fit(most int) (end, requests int) {
	for end = p.next; end < len(p.Commands); end++ {
		from, to := p.EntriesOf(end)
		if requests > 0 && requests+to-from > most {
			break
		}
		requests += to - from
	}
	return end, requests
}

// unsent returns how many requests have not been sent.
func (p *part) unsent() int { return len(p.Entries) - p.before(p.next) }

// before returns how many entries the commands before command c carry.
func (p *part) before(c int) int {
	if c == 0 {
		return 0
	}
	return p.Commands[c-1].End
}
