package pipeline

import (
	"math/bits"
	"sync"
	"time"
)

// Writing what was sent, after the mutex was unlocked: by whoever formed a round, or by the
// master's writer what a socket does not take at once.

// A writer is what is written to the master.
type writer struct {
	stuck chan struct{} // capacity 1: the master's writer is to write carried; closed when run returns

	// The following are guarded by Pipeline.mu.
	out             [][]byte  // to be written
	writing         bool      // somebody writes carried
	blocked         bool      // and the socket takes no more
	written         sync.Cond // that has ended, after the master was set aside
	leaveAfterWrite []*round  // left when the write that is under way ends

	// The following are owned by who has set writing.
	carried [][]byte // what is written
	gone    int      // pieces of it that are
}

// unlockAndWrite unlocks mu and writes what there is to be written, also what others add meanwhile:
// nobody has to wait for a write, and each master has one who writes at a time.
func (p *Pipeline) unlockAndWrite() {
	for {
		claimed := p.claimLocked()
		p.mu.Unlock()
		if claimed == 0 {
			return
		}
		written := uint64(0)
		for rest := claimed; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			if p.masters[i].writeAtOnce() {
				written |= 1 << i
			}
		}
		p.mu.Lock()
		for ; written != 0; written &= written - 1 {
			p.masters[bits.TrailingZeros64(written)].writtenLocked()
		}
	}
}

// claimLocked makes the caller the one who writes to the masters that it returns.
func (p *Pipeline) claimLocked() (claimed uint64) {
	for rest := p.toWrite; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if p.masters[i].claimLocked() {
			claimed |= 1 << i
		}
	}
	p.toWrite = 0 // who writes looks again when it has done so
	return claimed
}

func (m *master) claimLocked() bool {
	if m.writing || len(m.out) == 0 {
		return false
	}
	m.writing, m.unclaimed = true, 0
	m.carried, m.out, m.gone = m.out, m.carried, 0
	return true
}

// writeAtOnce writes what the socket takes, and leaves the rest to the writer. It reports
// whether that was all.
func (m *master) writeAtOnce() bool {
	if m.gone = m.session.Write(m.carried); m.gone == len(m.carried) {
		return true
	}
	m.p.mu.Lock()
	m.blocked = true
	m.p.mu.Unlock()
	m.stuck <- struct{}{}
	return false
}

// writeWhatIsStuck is the writer's goroutine: it ends when run has.
func (m *master) writeWhatIsStuck() {
	for range m.stuck {
		for more := true; more; {
			for _, b := range m.carried[m.gone:] {
				if _, err := m.session.Conn.Write(b); err != nil {
					break // the reader finds out
				}
			}
			m.p.mu.Lock()
			m.writtenLocked()
			more = m.claimLocked()
			m.p.mu.Unlock()
		}
	}
}

// writtenLocked ends a write.
func (m *master) writtenLocked() {
	clear(m.carried)
	m.carried = m.carried[:0]
	m.writing, m.blocked = false, false
	for _, r := range m.leaveAfterWrite {
		r.leave()
	}
	m.leaveAfterWrite = m.leaveAfterWrite[:0]
	now := time.Now()
	for i := len(m.flights) - m.unclaimed - 1; i >= 0 && m.flights[i].wrote.IsZero(); i-- {
		m.flights[i].wrote = now
	}
	if !m.up {
		m.written.Broadcast()
	} else if len(m.out) > 0 {
		m.p.toWrite |= 1 << m.index
	}
}
