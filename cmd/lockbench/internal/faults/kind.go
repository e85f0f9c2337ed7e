package faults

import (
	"context"
	"slices"

	"muxlock/bench"
	"muxlock/internal/redisserver"
)

// Kind is what a fault does.
type Kind string

// The kinds. A restarted master comes back empty on its port; the engine gives it no
// vote for its MaxTTL and a little, so it stays away longer than the fault lasts.
const (
	Delay    Kind = "delay"    // every reply is late
	Stop     Kind = "stop"     // SIGSTOP, then SIGCONT: connections stay, nothing answers
	Kill     Kind = "kill"     // SIGKILL, and started again at the end
	Restart  Kind = "restart"  // killed, and started again at once
	Cut      Kind = "cut"      // all connections reset, and new ones too until the end
	Flush    Kind = "flush"    // FLUSHALL: the master forgets its locks and does not know it
	Copy     Kind = "copy"     // REPLICAOF another master until it has that one's data, then NO ONE
	SwapDB   Kind = "swapdb"   // SWAPDB 0 1, and again at the end: what was in the other one is back
	Rollback Kind = "rollback" // SAVE, and at the end killed and started again with what was saved
)

// Kinds is all of them, in the order of the documentation.
var Kinds = []Kind{Delay, Stop, Kill, Restart, Cut, Flush, Copy, SwapDB, Rollback}

// Grammar is what Parse reads, for people.
const Grammar = "delay:K:SPAN, stop:K, kill:K, cut:K, swapdb:K, rollback:K with @FROM-TO, or cut:K@AT, swapdb:K@AT, " +
	"restart:K@AT, flush:K@AT, copy:K@AT " +
	"(stop:1@2s-4s, delay:2:lognormal(5ms,1)); delay, stop and kill without @ last for the whole run"

// TakesAway reports whether the master does not answer, or has forgotten its locks: whether
// the others have to do without it.
func (k Kind) TakesAway() bool { return k != Delay }

// argued reports whether the kind takes a span of time, which is its delay.
func (k Kind) argued() bool { return k == Delay }

// event reports whether a fault of that kind has no length.
func (k Kind) event() bool { return k == Restart || k == Flush || k == Copy }

// momentary reports whether it may have none.
func (k Kind) momentary() bool { return k.event() || k == Cut || k == SwapDB }

// lasts reports whether it may last for the whole run.
func (k Kind) lasts() bool { return k == Delay || k == Stop || k == Kill }

// forgets reports whether the master has lost its locks afterwards.
func (k Kind) forgets() bool { return k.process() && k != Stop }

// process reports whether the kind needs the server's process for itself.
func (k Kind) process() bool { return k != Delay && k != Cut }

// master is one server and what is in front of it.
type master struct {
	server  *redisserver.Server
	others  []*redisserver.Server // the next one first
	proxy   *Proxy                // nil: no fault needs one
	list    []Fault
	delayed []int // faults in force, by index
}

func (m *master) do(fault int) error {
	switch f := m.list[fault]; f.Kind {
	case Stop:
		return m.server.Pause()
	case Kill:
		return m.server.Kill()
	case Restart:
		return restart(m.server)
	case Flush:
		return ask(m.server.Addr(), "FLUSHALL")
	case Copy:
		return m.copyOther()
	case SwapDB:
		return ask(m.server.Addr(), "SWAPDB", "0", "1")
	case Rollback:
		return ask(m.server.Addr(), "SAVE")
	case Cut:
		m.proxy.Cut(f.To > f.From)
	case Delay:
		m.delay(fault, true)
	}
	return nil
}

func (m *master) undo(fault int) error {
	switch m.list[fault].Kind {
	case Stop:
		return m.server.Resume()
	case Kill:
		return m.server.Restart(context.Background()) // bounds itself
	case SwapDB:
		return ask(m.server.Addr(), "SWAPDB", "0", "1")
	case Rollback:
		return rollBack(m.server)
	case Cut:
		m.proxy.Heal()
	case Delay:
		m.delay(fault, false)
	}
	return nil
}

// delay adds a fault's delay to those in force, or takes it out.
func (m *master) delay(fault int, on bool) {
	m.delayed = slices.DeleteFunc(m.delayed, func(i int) bool { return i == fault })
	if on {
		m.delayed = append(m.delayed, fault)
	}
	spans := make([]bench.Span, len(m.delayed))
	for i, n := range m.delayed {
		spans[i] = m.list[n].Delay
	}
	m.proxy.Delay(spans...)
}
