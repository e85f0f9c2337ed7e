package pipeline

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/scripts"
)

// Restoring the registers of a master that lost its data, from those of the others.

// A gathering is the registers of the others that a master is to be seeded with.
type gathering struct {
	m         *master
	session   *session // of m: what was gathered for one server is not sent to the next
	ticket    string
	open      int // masters that are still to answer
	read      uint64
	registers [fencing.Registers]uint64
}

func (m *master) gatherLocked(ticket string, now time.Time) {
	g := &gathering{m: m, session: m.session, ticket: ticket}
	if m.keptLocked() {
		m.sendLocked(g.newSeedingLocked(), now)
		return
	}
	for _, other := range m.p.masters {
		if other != m && other.up && other.member.admission.Admitted() {
			g.open++
			other.sendLocked(other.newReading(g), now)
		}
	}
	g.checkLocked(now)
}

// checkLocked seeds the master, or gives up until the next tick, when all have answered.
func (g *gathering) checkLocked(now time.Time) {
	m := g.m
	switch {
	case g.open > 0:
	case !m.up || m.session != g.session: // session is written while it is not up
	case fencing.Enough(g.read, len(m.p.masters), m.p.quorum):
		m.member.read = 0
		m.sendLocked(g.newSeedingLocked(), now)
	default:
		m.member.busy, m.member.read = false, bits.OnesCount64(g.read)+1
	}
}

// A reading reads the registers of one master for another.
type reading struct {
	batch
	g *gathering
}

func (m *master) newReading(g *gathering) *reading {
	r := &reading{g: g}
	r.readRegisters(m.p.set.text, m.admission.runID)
	return r
}

func (b *batch) readRegisters(set, runID string) {
	b.begin(8)
	b.add("EVALSHA", scripts.ReadRegisters.SHA1, "3", setKey, markKey, registersKey, set, runID)
}

func (r *reading) answered(m *master, replies []resp.Reply) error {
	var registers [fencing.Registers]uint64
	err := replies[0].Err()
	if err == nil {
		err = parseRegisters(replies[0].Text, &registers)
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if err == nil {
		r.g.read |= 1 << m.index
		fencing.Merge(r.g.registers[:], registers[:])
	}
	r.g.open--
	r.g.checkLocked(time.Now())
	if isUnfit(err) {
		return err
	}
	return nil
}

// parseRegisters reads fields and values, in turn.
func parseRegisters(text string, into *[fencing.Registers]uint64) error {
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		register, err1 := strconv.Atoi(words[i])
		value, err2 := strconv.ParseUint(words[i+1], 10, 64)
		if errors.Join(err1, err2) != nil || register < 0 || register >= fencing.Registers || value > fencing.MaxToken {
			return fmt.Errorf("register %s holds no token", words[i])
		}
		into[register] = value
	}
	return nil
}

func (r *reading) requests() int { return 0 }
func (r *reading) lostLocked(*master) {
	r.g.open--
	r.g.checkLocked(time.Now())
}

// A seeding admits a master.
type seeding struct {
	batch
	step
	ticket string
}

func (g *gathering) newSeedingLocked() *seeding {
	s := &seeding{ticket: g.ticket}
	s.seed(g.m.p.set.text, g.m.admission.runID, g.ticket, g.m.member.shown, g.registers[:])
	return s
}

func (b *batch) seed(set, runID, ticket, shown string, registers []uint64) {
	b.begin(11 + len(registers))
	b.add("EVALSHA", scripts.Seed.SHA1, "4", setKey, markKey, ticketKey, registersKey)
	b.add(set, runID, ticket, shown)
	for _, value := range registers {
		b.addNumber(value)
	}
}

func (s *seeding) answered(m *master, replies []resp.Reply) error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.member.busy = false
	if err := replies[0].Err(); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	m.member.admission.Seeded(s.ticket, replies[0].Number == 1)
	if m.member.admission.Admitted() {
		m.member.replaced = false
	}
	return nil
}
