package model

// What an operator does, as in pipeline/setup.go, and what happens to masters.

// An operator is the one who sets the masters up. It may be cut at any step and begin again.
type operator struct {
	at    at
	until uint8 // it watches the masters
}

type at uint8

const (
	away at = iota
	opening
	watching
	seeding
	switching
)

// A visit is what the operator knows of a master.
type visit struct {
	shown    uint8
	admitted bool
	run      uint8
	ticket   uint8 // 0: it needs none
	done     bool  // in this step
}

// setUp takes the next step of setting up. Whatever fails ends it, and it may begin again.
func (x *search) setUp() {
	m, s := x.m, &x.state
	if s.operator.at == away {
		t := *s
		t.operator.at = opening
		for i := range m.Masters {
			c := &t.columns[i]
			admitted := c.set != noSet && c.mark == c.run
			c.visit = visit{shown: c.set, run: c.run, admitted: admitted, done: admitted}
		}
		if !m.refuses(&t) {
			x.goes(&t, step{"set-up begins", -1, -1, 0})
		}
		return
	}
	t := *s
	m.leave(&t)
	x.goes(&t, step{"set-up is cut", -1, -1, 0})
	all := true
	for i := range m.Masters {
		if v := &s.columns[i].visit; !v.done {
			all = false
			x.visit(i)
		}
	}
	if !all || s.operator.at == watching && s.now < s.operator.until {
		return
	}
	t = *s
	t.operator.at++
	what := "set-up goes on"
	switch t.operator.at {
	case watching:
		t.operator.until = s.now + m.Wait
	case switching + 1:
		what = "set-up ends"
		m.leave(&t)
	}
	for i := range m.Masters {
		v := &t.columns[i].visit
		switch t.operator.at {
		case watching:
			v.done = true
		case seeding:
			v.done = v.ticket == 0
		case switching:
			v.done = false
		}
	}
	x.goes(&t, step{what, -1, -1, 0})
}

func (m *Model) leave(t *state) {
	t.operator = operator{}
	for i := range m.Masters {
		t.columns[i].visit = visit{}
	}
}

// refuses reports whether masters are in a state that only engines may mend: some have served,
// and others have lost data since.
func (m *Model) refuses(s *state) bool {
	later, lost := false, false
	for i := range m.Masters {
		v := &s.columns[i].visit
		later = later || v.shown == generation
		lost = lost || v.shown == noSet || !v.admitted && m.Fault != SetUpMarksRestarted
	}
	return later && lost && m.Fault != SetUpInOneStep
}

// visit does with a master what the operator is at.
func (x *search) visit(i int) {
	m, s := x.m, &x.state
	t := *s
	c := &t.columns[i]
	v := &c.visit
	v.done = true
	ok := v.run == c.run
	what := ""
	first := preparing
	if m.Fault == SetUpInOneStep {
		first = generation
	}
	switch s.operator.at {
	case opening:
		what = "set-up opens"
		if ok {
			v.ticket = c.open(v.shown, v.run, c.opened+1, true)
			c.opened, ok = max(c.opened, v.ticket), v.ticket != 0
		}
	case seeding:
		what = "set-up seeds"
		ok = ok && c.seed(first, v.run, v.ticket, v.shown, 0)
	case switching:
		what = "set-up switches"
		ok = ok && c.switchSet(preparing, generation)
	}
	if !ok {
		what += " in vain"
		m.leave(&t)
	}
	x.goes(&t, step{what, -1, int8(i), 0})
}

// replace gives those that stay the next description, one by one. It may end anywhere.
func (x *search) replace() {
	for i := range x.m.Masters {
		if c := &x.state.columns[i]; c.kind == stays && c.set == generation {
			t := x.state
			t.columns[i].switchSet(generation, following)
			x.goes(&t, step{"is switched", -1, int8(i), 0})
		}
	}
}

// faults are what happens to masters.
func (x *search) faults() {
	m, s := x.m, &x.state
	for i := range m.Masters {
		c, on := &s.columns[i], int8(i)
		for name := range c.locks {
			if !m.timed() && c.locks[name].owner != 0 {
				t := *s
				t.columns[i].locks[name] = lock{}
				x.goes(&t, step{"lock vanishes", -1, on, 0})
			}
		}
		if s.crashes < m.Crashes {
			t := *s
			t.crashes++
			t.columns[i].restart(&t, noSet, 0)
			x.goes(&t, step{"restarts empty", -1, on, 0})
		}
		if s.rollbacks < m.Rollbacks {
			for set := preparing; set <= c.set; set++ {
				t := *s
				t.rollbacks++
				t.columns[i].restart(&t, set, 0)
				x.goes(&t, step{"restarts with old data", -1, on, 0})
			}
		}
		if s.flushes < m.Flushes && (m.Lost == 0 || c.kind == lost) {
			t := *s
			t.flushes++
			t.columns[i].flush()
			x.goes(&t, step{"is flushed", -1, on, 0})
		}
		if s.jumps < m.Jumps {
			t := *s
			t.jumps++
			t.columns[i].locks = [maxNames]lock{}
			x.goes(&t, step{"clock jumps", -1, on, 0})
		}
		if m.Fault == RegisterDecreases && c.register > 0 {
			t := *s
			t.columns[i].register = 0
			x.goes(&t, step{"register is evicted", -1, on, 0})
		}
	}
}

// restart has another process behind the address. What is under way to the old one is lost.
func (c *column) restart(t *state, set, register uint8) {
	c.master = master{run: c.run + 1, set: set, register: register}
	if set != noSet {
		c.mark = foreign
	}
	for a := range c.asks {
		q := &c.asks[a]
		if q.sent = false; q.extend == underWay {
			q.extend = notSent
		}
	}
	for client := range c.views {
		v := &c.views[client]
		if v.session = 0; v.target {
			v.target, v.gathered = false, 0
			for j := range t.columns {
				t.columns[j].views[client].read = false
			}
		}
	}
}
