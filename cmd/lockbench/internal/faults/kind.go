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

// askLimit bounds a FLUSHALL.
const askLimit = 2 * time.Second

// Kind says what a fault does.
type Kind string

// The kinds. A restarted master comes back empty on its port. The engine gives it no vote for
// MaxTTL and a little, so it stays away longer than the fault lasts.
const (
	Delay   Kind = "delay"   // every reply is late
	Stop    Kind = "stop"    // SIGSTOP, then SIGCONT: connections stay, replies do not come
	Kill    Kind = "kill"    // SIGKILL; started again at the end
	Restart Kind = "restart" // SIGKILL; started again at once
	Flush   Kind = "flush"   // FLUSHALL: the master loses its locks and does not know it
)

// Kinds has all kinds, in the order of the documentation.
var Kinds = []Kind{Delay, Stop, Kill, Restart, Flush}

// Grammar describes the texts of Parse for people.
const Grammar = "delay:K:SPAN, stop:K, kill:K, which last for the whole run or @FROM-TO, restart:K@AT, flush:K@AT " +
	"(stop:1@2s-4s, delay:2:lognormal(5ms,1))"

// TakesAway reports whether the other masters must do without this one: it does not answer, or
// has lost its locks.
func (k Kind) TakesAway() bool { return k != Delay }

// event reports whether a fault of that kind has no length.
func (k Kind) event() bool { return k == Restart || k == Flush }

// forgets reports whether the master has lost its locks afterwards.
func (k Kind) forgets() bool { return k == Kill || k.event() }

// master is one server, its proxy and its faults.
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

// delay adds a fault's delay to those in force, or removes it.
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
