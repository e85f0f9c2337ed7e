package faults

import (
	"context"
	"errors"
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/wire"
	"muxlock/internal/redisserver"
)

// askLimit is how long a FLUSHALL may take.
const askLimit = 2 * time.Second

// Kind is what a fault does.
type Kind string

// The kinds. A restarted master comes back empty on its port; the engine gives it no
// vote for its MaxTTL and a little, so it stays away longer than the fault lasts.
const (
	Delay   Kind = "delay"   // every reply is late
	Stop    Kind = "stop"    // SIGSTOP, then SIGCONT: connections stay, nothing answers
	Kill    Kind = "kill"    // SIGKILL, and started again at the end
	Restart Kind = "restart" // killed, and started again at once
	Flush   Kind = "flush"   // FLUSHALL: the master forgets its locks and does not know it
)

// Kinds is all of them, in the order of the documentation.
var Kinds = []Kind{Delay, Stop, Kill, Restart, Flush}

// Grammar is what Parse reads, for people.
const Grammar = "delay:K:SPAN, stop:K, kill:K, which last for the whole run or @FROM-TO, restart:K@AT, flush:K@AT " +
	"(stop:1@2s-4s, delay:2:lognormal(5ms,1))"

// TakesAway reports whether the master does not answer, or has forgotten its locks: whether
// the others have to do without it.
func (k Kind) TakesAway() bool { return k != Delay }

// event reports whether a fault of that kind has no length.
func (k Kind) event() bool { return k == Restart || k == Flush }

// forgets reports whether the master has lost its locks afterwards.
func (k Kind) forgets() bool { return k == Kill || k.event() }

// master is one server and what is in front of it.
type master struct {
	server  *redisserver.Server
	proxy   *Proxy // nil: no fault needs one
	list    []Fault
	delayed []int // faults in force, by index
}

func (m *master) do(fault int) error {
	switch m.list[fault].Kind {
	case Stop:
		return m.server.Pause()
	case Kill:
		return m.server.Kill()
	case Restart:
		return errors.Join(m.server.Kill(), m.server.Restart(context.Background())) // bounds itself
	case Flush:
		_, err := wire.Ask(context.Background(), m.server.Addr(), askLimit, "FLUSHALL")
		return err
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
