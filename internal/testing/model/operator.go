package model

import "muxlock/internal/fencing"

// This file is what operators do, as in pipeline/internal/membership/setup.go and replace.go. Package fencing makes the
// decisions (ask in sets.go).

// An operation is the task of an operator.
type operation uint8

const (
	setsUp operation = iota
	recovers
	replaces
)

// An operator may be cut at any step and begin again.
type operator struct {
	at    at
	until uint8 // end of watching
	set   uint8 // set that the masters get, or are switched from
}

type at uint8

const (
	away at = iota
	opening
	watching
	seeding
	switching
	puttingBack
)

// A visit is what an operator knows of a master.
type visit struct {
	finding
	mark   mark
	run    uint8
	ticket mark
	done   bool // the master needs nothing more in this step
}

// concerns reports whether an operator's task includes a master.
func (m *Model) concerns(operator int, c *column) bool {
	if m.Operations[operator] == replaces {
		return c.kind != goes
	}
	return c.kind != comes
}

// operator takes the next step of operator n. A failure ends its task; it may begin again.
func (x *search) operator(n int) {
	m, s := x.m, &x.state
	op := &s.operators[n]
	if op.at == away {
		x.begin(n)
		return
	}
	t := *s
	m.leave(&t, n)
	x.goes(&t, step{"operator is cut", int8(n), -1, 0})
	all := true
	for i := range m.masters() {
		if c := &s.columns[i]; m.concerns(n, c) && !c.visits[n].done {
			all = false
			x.visit(n, i)
		}
	}
	if !all || op.at == watching && s.now < op.until {
		return
	}
	t = *s
	m.goOn(&t, n)
	x.goes(&t, step{"operator goes on", int8(n), -1, 0})
}

// begin has an operator visit all masters and ask package fencing what to do.
func (x *search) begin(n int) {
	m, t := x.m, x.state
	if m.Begins > 0 {
		if t.begins == m.Begins {
			return
		}
		t.begins++
	}
	q := question{operation: m.Operations[n], operator: n}
	found := 0
	for i := range m.masters() {
		c := &t.columns[i]
		if m.Operations[n] != replaces && !m.concerns(n, c) { // a replacement looks at the old master, too
			continue
		}
		admitted := c.set != noSet && fencing.ParseMark(c.mark.text()).Admits(names[c.run], "m")
		q.found[found] = finding{c.set, admitted}
		if m.concerns(n, c) {
			c.visits[n] = visit{finding: q.found[found], mark: c.mark, run: c.run}
		}
		if m.Fault == SetUpMarksRestarted && c.set != noSet {
			q.found[found].admitted = true
		}
		found++
	}
	a := x.ask(q, found)
	op := &t.operators[n]
	first := sets[a.set].Generation == fencing.Preparing
	switch {
	case a.refused && !(m.Fault == SetUpInOneStep && q.operation == setsUp):
		return
	case q.operation == replaces:
		if op.at, op.set = switching, a.before; a.back {
			op.at = puttingBack
		}
		for i := range m.masters() {
			v := &t.columns[i].visits[n]
			v.done = t.columns[i].kind == comes || v.set != a.before || !v.admitted
			if a.back {
				v.done = t.columns[i].kind == comes || v.set != a.set || v.admitted
			}
		}
	case m.Fault == SetUpInOneStep:
		op.at, op.set, first = opening, serving, true
	default:
		op.at, op.set = opening, a.set
	}
	if op.at == opening {
		for i := range m.masters() {
			v := &t.columns[i].visits[n]
			v.done = v.admitted && (v.set == op.set || !first)
		}
	}
	x.goes(&t, step{"operator begins", int8(n), -1, 0})
}

// goOn begins an operator's next step.
func (m *Model) goOn(t *state, n int) {
	op := &t.operators[n]
	switch {
	case op.at == puttingBack || op.at == switching && (m.Operations[n] == replaces || sets[op.set].Generation >= fencing.Serving-1):
		m.leave(t, n)
		return
	case op.at == switching:
		op.set++
	case op.at == seeding && sets[op.set].Generation >= fencing.Serving:
		m.leave(t, n)
		return
	case op.at == seeding: // from the first generation on
		op.at, op.set = switching, op.set-uint8(sets[op.set].Generation)
	default:
		op.at++
	}
	if op.at == watching {
		op.until = t.now + m.Wait
	}
	for i := range m.masters() {
		v := &t.columns[i].visits[n]
		switch op.at {
		case watching:
			v.done = true
		case seeding:
			v.done = v.ticket.nonce == 0
		case switching:
			v.done = v.set != op.set
		}
	}
}

func (m *Model) leave(t *state, n int) {
	t.operators[n] = operator{}
	for i := range m.masters() {
		t.columns[i].visits[n] = visit{}
	}
}

// visit takes an operator's present step at one master.
func (x *search) visit(n, i int) {
	m, t := x.m, x.state
	op, c := &t.operators[n], &t.columns[i]
	v := &c.visits[n]
	v.done = true
	ok := v.run == c.run // else the operator's connection is cut
	what := ""
	switch op.at {
	case opening:
		what = "operator opens"
		if ok {
			v.ticket = c.open(v.set, v.mark, mark{nonce: c.nonces + 1, run: c.run})
			c.nonces, ok = max(c.nonces, v.ticket.nonce), v.ticket.nonce != 0
		}
	case seeding:
		what = "operator seeds"
		least := uint8(0)
		if m.Operations[n] == recovers && m.Fault != RecoverFromZero {
			for _, counted := range t.counted { // above the largest token that a resource has seen
				least = max(least, largest(counted)+1)
			}
		}
		if ok = ok && c.seed(op.set, v.ticket, v.set, least); ok {
			v.set, v.mark, v.admitted = op.set, v.ticket, true
		}
	case puttingBack:
		what = "operator puts back"
		if ok = ok && c.change(v.set, v.mark, op.set, mark{nonce: c.nonces + 1, run: c.run, copied: true}); ok {
			c.nonces++
		}
	case switching:
		what = "operator switches"
		next := op.set + 1
		if m.Operations[n] == replaces {
			next = following
		}
		if ok = ok && c.change(v.set, v.mark, next, v.mark); ok {
			v.set = next
		}
	}
	if !ok {
		what += " in vain"
		m.leave(&t, n)
	}
	x.goes(&t, step{what, int8(n), int8(i), 0})
}
