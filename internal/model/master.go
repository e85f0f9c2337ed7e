package model

// A master is what the scripts see and change on one server. Descriptions, run_ids, tickets and
// token values are numbers here, 0 is none; of the registers there is one, which all names share.
// TestMasterAgreesWithTheScripts compares it with a server that runs the Lua.
type master struct {
	run      uint8 // run_id of the process
	set      uint8 // the description
	mark     uint8 // the run_id under which the master was admitted
	ticket   uint8
	register uint8
	locks    [maxNames]lock
}

type lock struct{ owner, until uint8 }

// The descriptions of the set, in the order of its generations.
const (
	noSet      uint8 = iota
	preparing        // generation 0
	generation       // 1
	following        // 2
)

// foreign is a mark of another server.
const foreign uint8 = 255

// acquire is scripts/fenced_acquire.lua. With member false the caller expects another set.
func (m *master) acquire(set uint8, name int, owner, hint, until uint8) (token uint8, granted, member bool) {
	l := &m.locks[name]
	switch {
	case m.set != set:
		return 0, false, false
	case l.owner != 0:
		return 0, false, true
	}
	m.register = max(m.register, hint) + 1
	*l = lock{owner, until}
	return m.register, true, true
}

// extend is scripts/fenced_extend.lua.
func (m *master) extend(set uint8, name int, owner, token, until uint8) (ours, member bool) {
	l := &m.locks[name]
	if l.owner != owner {
		return false, true
	}
	if m.set != set {
		return false, false
	}
	m.register = max(m.register, token)
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
func (m *master) open(shown, run, fresh uint8, void bool) (ticket uint8) {
	if m.set != shown || shown != noSet && m.mark == run && !void {
		return 0
	}
	m.mark = 0
	if m.ticket == 0 {
		m.ticket = fresh
	}
	return m.ticket
}

// seed is scripts/seed.lua.
func (m *master) seed(set, run, ticket, shown, least uint8) bool {
	if ticket == 0 || m.ticket != ticket || m.set != shown {
		return false
	}
	m.register = max(m.register, least)
	m.set, m.mark, m.ticket = set, run, 0
	return true
}

// read is scripts/registers.lua.
func (m *master) read(set, run uint8) (register uint8, admitted bool) {
	return m.register, m.set == set && set != noSet && m.mark == run
}

// switchSet is scripts/switch.lua.
func (m *master) switchSet(from, to uint8) bool {
	if m.set == from {
		m.set = to
	}
	return m.set == to
}

// flush is FLUSHALL.
func (m *master) flush() { *m = master{run: m.run} }
