package pipeline

import (
	"errors"
	"io"
	"time"

	"muxlock/internal/redlock"
)

// A master rests when its idle connection has ended, until it was dialled once: its server closes connections that are idle
// for its timeout, and so may all servers at once. Stats and Config.Changed show it as up. A round that needs it for a quorum
// wakes it, and waits for the dial, at most twice Config.Timeout. Ready wakes it, too. Else it is dialled within
// redlock.LongestRedial, so that a fleet does not dial at once.

// ErrReconnected is the cause in Config.Changed when a master that rested was dialled, and the same server answered.
var ErrReconnected = errors.New("an idle connection ended")

// endedIdleLocked reports whether the server closed the connection with nothing under way, a while after it was opened.
func (m *master) endedIdleLocked(cause error) bool {
	return errors.Is(cause, io.EOF) && len(m.flights)+len(m.unsent) == 0 && time.Since(m.admitted) >= redlock.LongestRedial
}

// wakeLocked ends the pause before the master is dialled.
func (m *master) wakeLocked() {
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// reconnect dials the master once, and ends its rest. Unless the same server answers, the end of the connection is reported.
func (m *master) reconnect() {
	p, before, cause := m.p, m.server.RunID, m.cause
	m.waitWhileIdle()
	late := time.AfterFunc(2*p.cfg.Timeout, func() { m.endRest(false) })
	err := m.dialAndAdmit(p.ctx, 0)
	late.Stop()
	if p.ctx.Err() != nil {
		return
	}
	same := err == nil && m.server.RunID == before
	m.endRest(!same)
	switch {
	case p.cfg.Changed == nil:
	case same:
		p.cfg.Changed(m.address, true, ErrReconnected)
	case err == nil: // else report does it
		p.cfg.Changed(m.address, false, cause)
	}
}

// endRest has rounds wait for the master no more.
func (m *master) endRest(setAside bool) {
	p := m.p
	p.mu.Lock()
	m.resting = false
	if setAside {
		m.stats.SetAside++
	}
	p.formLocked()
	p.unlockAndWrite()
}
