package pipeline

import (
	"cmp"
	"context"
	"errors"
	"time"

	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
)

// This file reads the masters' values of a name, for people, and writes notes. No rule of the lock depends on it.

// mostInspections bounds the inspections under way; others wait.
const mostInspections = 64

var errUnanswered = errors.New("has not answered yet")

// Inspect asks all masters that are up what they have under name, side by side, and returns a Value
// for each master in the order of Config.Masters. The question is sent behind the requests under
// way. Inspect blocks until all have answered, ctx ends or Config.Timeout has passed. A master
// that has not answered by then has the reason as its Err.
func (p *Pipeline) Inspect(ctx context.Context, name string) ([]Value, error) {
	return p.askAll(ctx, func(m *master, b *conn.Batch) { b.Inspect(name, m.why == nil) }, conn.Inspected)
}

// Write sets key to value, without an expiry, on all masters that are up and have old or nothing there. It returns and blocks
// as Inspect does; a master that has something else is no error.
func (p *Pipeline) Write(ctx context.Context, key, old, value string) ([]Value, error) {
	return p.askAll(ctx, func(_ *master, b *conn.Batch) {
		b.Plain(&Request{Op: Release, Name: key, Token: old}, 0)
		b.Command("SET", key, value, "NX")
	}, func(replies []resp.Reply) Value { return Value{Err: cmp.Or(replies[0].Err(), replies[1].Err())} })
}

func (p *Pipeline) askAll(ctx context.Context, question func(*master, *conn.Batch), read func([]resp.Reply) Value) ([]Value, error) {
	select {
	case p.inspections <- struct{}{}:
		defer func() { <-p.inspections }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answers := make(chan answer, len(p.masters))
	values, open, now := make([]Value, len(p.masters)), 0, time.Now()
	p.mu.Lock()
	closed := p.closed
	for i, m := range p.masters {
		values[i] = Value{Address: m.address, Err: m.cause} // of a master that is away
		if m.up && !closed {
			values[i].Err = errUnanswered
			m.sendLocked(m.newInspection(question, read, answers), now)
			open++
		}
	}
	p.unlockAndWrite()
	if closed {
		return nil, ErrClosed
	}
	timeout, why := time.After(p.cfg.Timeout), errUnanswered
	for ; open > 0 && why == errUnanswered; open-- {
		select {
		case a := <-answers:
			values[a.master] = a.Value
		case <-ctx.Done():
			why = ctx.Err()
		case <-timeout:
			why = errHung
		}
	}
	for i := range values {
		if values[i].Err == errUnanswered {
			values[i].Err = why
		}
	}
	return values, nil
}

type answer struct {
	master int
	Value
}

// newInspection asks the master one question; answers has room for all masters. The answer never
// ends the connection: only answers that locks need may.
func (m *master) newInspection(question func(*master, *conn.Batch), read func([]resp.Reply) Value, answers chan<- answer) *maintenance {
	e := &maintenance{requests: 1}
	question(m, &e.Batch)
	e.answered = func(replies []resp.Reply) error {
		v := read(replies)
		v.Address = m.address
		answers <- answer{m.index, v}
		return nil
	}
	e.lostLocked = func() { answers <- answer{m.index, Value{Address: m.address, Err: m.cause}} }
	return e
}
