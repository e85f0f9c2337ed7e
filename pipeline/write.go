package pipeline

import (
	"math/bits"
	"sync"
	"time"
)

// A writer has the bytes on their way to the master's socket.
type writer struct {
	stuck chan struct{} // capacity 1, hands carried over to the master's writer; closed when run returns

	// The following are guarded by Pipeline.mu.
	out             [][]byte  // nobody has claimed these yet
	writing         bool      // somebody writes carried
	blocked         bool      // the socket took no more; the writer writes
	written         sync.Cond // signals the end of a write after the master was set aside
	leaveAfterWrite []*round  // left when the present write ends

	// The following are owned by the goroutine that has set writing.
	carried [][]byte // being written
	gone    int      // pieces of carried that are written
}

// unlockAndWrite unlocks mu and writes all unclaimed bytes, including bytes that others add
// meanwhile. Nobody waits for a write, and each master has one writer at a time.
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

// claimLocked makes the caller the writer of the masters that it returns, one bit each.
func (p *Pipeline) claimLocked() (claimed uint64) {
	for rest := p.toWrite; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if p.masters[i].claimLocked() {
			claimed |= 1 << i
		}
	}
	p.toWrite = 0 // the goroutine that writes to a master looks again at the end
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

// writeAtOnce writes the bytes that the socket takes at once, and leaves the rest to the master's
// writer. It reports whether it wrote all.
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

// writeWhatIsStuck is the writer's goroutine: it ends after run.
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
			m.blocked = more
			m.p.unlockAndWrite()
		}
	}
}

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
	if m.p.drains {
		m.p.formLocked() // of releases that the end of a round has queued
	}
}
