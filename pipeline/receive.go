package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/pending"
)

// A reader has the state of reading and connecting; owned by run.
type reader struct {
	wanted    chan struct{} // capacity 1, signals that a round was formed without the master
	replies   []resp.Reply
	votes     conn.Votes    // of the reply that is being read
	rechecked time.Time     // the since of the last check of a silent master (checkAgain)
	far       bool          // the window was above 1 after the last flight
	admitted  time.Time     // when the master was admitted last
	pause     time.Duration // before the next probe
}

// serve reads answers until the master must be set aside, and returns why.
func (m *master) serve() (cause error) {
	s := m.session
	defer context.AfterFunc(m.p.ctx, func() { _ = s.Conn.SetReadDeadline(time.Now()) })()
	if err := s.ListenUntil(time.Now().Add(m.p.cfg.Timeout)); err != nil {
		return err
	}
	for {
		if _, err := s.In.Peek(1); err != nil {
			return err
		}
		f, ok := m.oldest()
		if !ok && s.Pushed != nil {
			if confirmed, err := s.ReadPush(); err != nil {
				return err
			} else if !confirmed {
				continue
			}
		}
		if !ok {
			reply, err := resp.Read(s.In) // a server that closes may say why
			return fmt.Errorf("%w: nothing was asked", cmp.Or(reply.Err(), err, conn.ErrUnexpected))
		}
		var err error
		if m.replies, err = s.ReadReplies(f.commands(), m.replies[:0]); err != nil {
			return err
		}
		if err := m.complete(&f); err != nil {
			return err
		}
		if f.maintenance != nil {
			m.report()
		}
	}
}

func (m *master) oldest() (flight, bool) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if len(m.flights) == 0 {
		return flight{}, false
	}
	return m.flights[0], true
}

// complete takes the replies to the oldest flight, and sends requests that waited for room. An error
// means that the master is not fit to serve.
func (m *master) complete(f *flight) (unfit error) {
	p := m.p
	var a followUp
	many := f.requests >= conn.FoldFrom || m.far && f.requests > 1
	if many && m.far {
		// The woken callers ask again. Their requests should share a round.
		p.mu.Lock()
		p.voting++
		p.mu.Unlock()
	}
	if f.maintenance != nil {
		unfit = f.maintenance.answered(m.replies)
	} else {
		a = f.part.read(m, f.first, m.replies)
		unfit = a.unfit
	}
	if many {
		runtime.Gosched()
	}
	p.mu.Lock()
	if many && m.far {
		p.voting--
	}
	now := time.Now()
	m.removeFlightLocked(f, now)
	if f.maintenance == nil {
		m.noReaders = cmp.Or(m.noReaders, a.noReaders)
		m.notePendingLocked(f, &a, now)
		m.repeatLocked(f, &a, now)
		switch {
		case !f.last:
		case f.wrote.IsZero(): // answered before its write has returned: the end of the write leaves the round
			m.leaveAfterWrite = append(m.leaveAfterWrite, f.part.r)
		default:
			f.part.r.leave()
		}
	}
	if unfit == nil {
		if len(m.unsent) >= compactFrom {
			m.compactLocked()
		}
		m.sendUnsentLocked(now)
		p.formLocked()
	}
	p.unlockAndWrite()
	return unfit
}

// removeFlightLocked takes the oldest flight off the wire.
func (m *master) removeFlightLocked(f *flight, now time.Time) {
	m.took = now.Sub(f.sent)
	m.pace.Answered(f.requests, f.ahead, m.took, now)
	m.paceLocked()
	m.far = m.window > 1
	f.wrote = m.flights[0].wrote
	m.flights = slices.Delete(m.flights, 0, 1)
	m.onWire -= f.requests
	m.writes -= f.writes
}

func (m *master) paceLocked() { m.window, m.budget = m.pace.Window(), m.pace.Budget() }

// notePendingLocked notes the releases that failed. After a connection died, it also notes releases
// whose acquire may still be executed, and passes whose token lingers in line: for a while the
// master may count the dead connection as a listener, and pass a lock to the token.
func (m *master) notePendingLocked(f *flight, a *followUp, now time.Time) {
	m.stats.ReleasesDenied += uint64(a.dropped)
	for _, i := range a.failed {
		m.pending.Add(&f.part.Entries[i], now)
	}
	lingers := f.part.r.lined && f.part.Channel == "" && m.why == nil
	if m.pending.InDoubt() || lingers {
		f.part.releases(f.first, f.end, func(q *Request) { m.pending.Sent(q, now, lingers && q.Op == Pass) })
	}
}

// repeatLocked repeats commands that were not executed: calls of a missing script after it was loaded,
// and commands that were refused for one name, each entry alone. NOSCRIPT, NOPERM and the 0 of
// MSETEX NX prove that nothing was executed. A session is one server process, so NOSCRIPT means a
// SCRIPT FLUSH and not a restart. Repeats run behind commands sent meanwhile.
func (m *master) repeatLocked(f *flight, a *followUp, now time.Time) {
	switch {
	case a.notTaken > 0:
		m.optimism.refused()
		m.stats.BatchesRefused += uint64(a.notTaken)
	case a.taken > 0:
		m.optimism.granted()
	}
	if len(a.refused)+len(a.noScript) == 0 {
		return
	}
	released := m.releasesFormedLocked()
	if len(a.refused) > 0 {
		m.waitLocked(f.part.repeat(m, a.refused, true, released))
	}
	if len(a.noScript) > 0 {
		loading := &maintenance{answered: unlessUnfit} // what is missing even then fails the next command that calls it
		if loading.LoadScripts(m.p.set != nil); m.able {
			loading.LoadLine()
		}
		m.sendLocked(loading, now)
		m.waitLocked(f.part.repeat(m, a.noScript, false, released))
	}
}

// releasesFormedLocked returns the tokens of all locks whose release waits for the master or for
// its answer. Their acquires must not be repeated: they would be executed behind the release.
func (m *master) releasesFormedLocked() map[string]bool {
	released := make(map[string]bool)
	note := func(q *Request) { released[q.Token] = true }
	notePending := func(rs []*pending.Release) {
		for _, r := range rs {
			released[r.Token] = true
		}
	}
	notePending(m.pending.All())
	for i := range m.flights {
		if g := &m.flights[i]; g.maintenance != nil {
			notePending(g.maintenance.releases)
		} else {
			g.part.releases(g.first, g.end, note)
		}
	}
	for i := range m.unsent {
		m.unsent[i].releases(0, len(m.unsent[i].Commands), note)
	}
	return released
}
