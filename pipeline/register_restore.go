package pipeline

import (
	"math/bits"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/fencing"
	"muxlock/internal/redlock"
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// A gathering collects the registers of other masters, to seed a master that lost its data with them.
type gathering struct {
	m         *master
	session   *conn.Session // of m: registers gathered for one server are not sent to the next
	ticket    string
	open      int    // masters that are still to answer
	read      uint64 // masters that have answered, one bit each
	registers [fencing.Registers]uint64
}

// gatherLocked reads the registers of the other masters, if enough of them are admitted and the
// pause after the last try is over.
func (m *master) gatherLocked(now time.Time) {
	if now.Before(m.member.readAt) {
		return
	}
	ticket, _ := m.member.admission.Ticket()
	g := &gathering{m: m, session: m.session, ticket: ticket}
	var from []*master
	for _, other := range m.p.masters {
		if other != m && other.up && other.member.admission.Admitted() {
			from = append(from, other)
			g.read |= 1 << other.index
		}
	}
	if !fencing.Enough(g.read, len(m.p.masters), m.p.quorum) {
		m.member.read = len(from) + 1
		return
	}
	m.member.busy, g.open, g.read = true, len(from), 0
	for _, other := range from {
		other.checkLocked(now, tickPeriod)
		other.sendLocked(other.newReading(g), now)
	}
}

// The pause before registers are read again, if too few masters answered.
const (
	firstReadPause   = tickPeriod
	longestReadPause = 10 * time.Second
)

// answeredLocked notes that one more master has answered or was lost. After the last one it writes the registers to the
// gathering's master, which admits it, or gives up until a later tick.
func (g *gathering) answeredLocked() {
	m, now := g.m, time.Now()
	g.open--
	switch {
	case g.open > 0:
	case !m.up || m.session != g.session: // session is written while m is not up
	case fencing.Enough(g.read, len(m.p.masters), m.p.quorum):
		m.member.read, m.member.pause = 0, 0
		var seed conn.Batch
		membership.AddSeed(&seed, m.p.set.Description(), g.ticket, m.member.Shown, g.registers[:])
		m.changeLocked(seed, now, func(reply resp.Reply) { m.member.admission.Seeded(g.ticket, reply.Number == 1) })
	default:
		m.member.busy, m.member.read = false, bits.OnesCount64(g.read)+1
		m.member.pause = min(max(2*m.member.pause, firstReadPause), longestReadPause)
		m.member.readAt = now.Add(m.member.pause/2 + redlock.Jitter(0, m.member.pause, fastrand.Uint32n))
	}
}

// newReading reads the registers of m for another master.
func (m *master) newReading(g *gathering) *maintenance {
	e := &maintenance{}
	membership.AddReadRegisters(&e.Batch, m.p.set.Description(), m.member.admission.Mark())
	e.answered = func(replies []resp.Reply) error {
		var registers [fencing.Registers]uint64
		err := replies[0].Err()
		if err == nil {
			err = membership.ParseRegisters(replies[0].Text, &registers)
		}
		m.p.mu.Lock()
		defer m.p.mu.Unlock()
		if err == nil {
			g.read |= 1 << m.index
			fencing.Merge(g.registers[:], registers[:])
		}
		g.answeredLocked()
		if conn.IsUnfit(err) {
			return err
		}
		return nil
	}
	e.lostLocked = g.answeredLocked
	return e
}
