package model

import (
	"strconv"

	"muxlock/internal/fencing"
)

// A master is the data that the scripts read and change on one server. Descriptions, run_ids, nonces and token values are
// numbers here; 0 means none. There is one register, which all names share. TestMasterRuleAgreesWithTheScripts
// compares a master with a server that runs the Lua.
type master struct {
	run uint8 // run_id of the process
	data
}

// data is what a snapshot, a copy or another database contains of a master.
type data struct {
	set          uint8 // the description
	mark, ticket mark
	since        uint8 // 1 plus the time of the ticket, by the clients' shared clock; 0: not known
	waitsFor     uint8 // the set for which since was noted; an entry for an earlier set is not kept, since only clients of that set would use it
	registers    bool  // the registers exist
	register     uint8
	locks        [maxNames]lock
}

// A mark is a fencing.Mark.
type mark struct {
	nonce, run uint8
	copied     bool // it names another member: the data was copied from there
}

type lock struct{ owner, until uint8 }

// expire frees a lock whose lease is over.
func (l *lock) expire(now uint8) {
	if l.until <= now {
		*l = lock{}
	}
}

// markTexts are the marks as text, as clients read them.
var markTexts = func() (texts [32][16][2]string) {
	for nonce := range texts {
		for run := range texts[nonce] {
			for copied, member := range []string{"m", "another"} {
				texts[nonce][run][copied] = fencing.Mark{Nonce: strconv.Itoa(nonce), RunID: strconv.Itoa(run), Member: member}.String()
			}
		}
	}
	return texts
}()

// text returns the mark as text, or "" for no mark.
func (k mark) text() string {
	switch {
	case k.nonce == 0:
		return ""
	case k.copied:
		return markTexts[k.nonce][k.run][1]
	}
	return markTexts[k.nonce][k.run][0]
}

// markOf returns the mark of a text.
func markOf(text string) (k mark) {
	m := fencing.ParseMark(text)
	nonce, _ := strconv.Atoi(m.Nonce)
	run, _ := strconv.Atoi(m.RunID)
	return mark{uint8(nonce), uint8(run), m.Member != "m"}
}

// acquire is scripts/fenced_acquire.lua. member is false if the caller expects another set or the master is not admitted.
func (m *master) acquire(set uint8, name int, owner, hint, until uint8) (token uint8, granted, member bool) {
	l := &m.locks[name]
	switch {
	case m.set != set || m.mark.nonce == 0:
		return 0, false, false
	case l.owner != 0 || !m.registers:
		return 0, false, true
	}
	m.register = max(m.register, hint) + 1
	*l = lock{owner, until}
	return m.register, true, true
}

// extend is scripts/fenced_extend.lua. Token 0 means that the caller does not know the token.
func (m *master) extend(set uint8, name int, owner, token, until uint8) (ours, member bool) {
	l := &m.locks[name]
	switch {
	case l.owner != owner:
		return false, true
	case m.set != set || m.mark.nonce == 0:
		return false, false
	case token > 0 && !m.registers:
		return false, true
	}
	if token > 0 {
		m.register = max(m.register, token)
	}
	l.until = max(l.until, until)
	return true, true
}

// release is scripts/release.lua.
func (m *master) release(name int, owner uint8) bool {
	if m.locks[name].owner != owner {
		return false
	}
	m.locks[name] = lock{}
	return true
}

// open is scripts/open.lua.
func (m *master) open(shown uint8, found, fresh mark) (ticket mark) {
	if m.set != shown || m.mark != found {
		return mark{}
	}
	m.mark = mark{}
	if m.ticket.run != fresh.run || m.ticket.copied != fresh.copied {
		m.ticket, m.since, m.waitsFor = fresh, 0, noSet
	}
	return m.ticket
}

// seed is scripts/seed.lua.
func (m *master) seed(set uint8, ticket mark, shown, least uint8) bool {
	if ticket.nonce == 0 || m.ticket != ticket || m.set != shown {
		return false
	}
	m.register, m.registers = max(m.register, least), true
	m.set, m.mark, m.ticket, m.since, m.waitsFor = set, ticket, mark{}, 0, noSet
	return true
}

// read is scripts/registers.lua.
func (m *master) read(set uint8, expected mark) (register uint8, admitted bool) {
	return m.register, m.set == set && set != noSet && m.mark == expected && expected.nonce != 0
}

// change is scripts/switch.lua.
func (m *master) change(set uint8, found mark, next uint8, to mark) bool {
	if m.set == set && m.mark == found && found.nonce != 0 {
		m.set, m.mark = next, to
	}
	return m.set == next && m.mark == to
}

// flush is FLUSHALL.
func (m *master) flush() { m.data = data{} }
