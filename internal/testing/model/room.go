package model

import (
	"fmt"
	"slices"

	"muxlock/internal/line"
	"muxlock/internal/quorum"
)

// A roomModel is a name whose line comes to rest or not. A master restarted; the holder heals it, or is gone. Waiters make
// room for a holder that heals, as line.Waiter decides. There is neither time nor a lost message: safety is no matter of this
// model.
type roomModel struct {
	Waiters int
	Gone    bool // the holder is gone, and its keys end at any time
	Fault   roomFault
}

// A roomFault leaves out one rule.
type roomFault uint8

const (
	_          roomFault = iota
	alwaysMay            // a waiter asks to be granted whatever it has heard
	neverMay             // a waiter never asks to be granted
	keepsStray           // a waiter waits with its strays while another has a quorum
)

const maxWaiters = 2

// Who has a key, or is said to have it. The waiters follow firstWaiter.
const (
	nobody uint8 = iota
	holder
	firstWaiter
	unheard = 255
	given   = 128 // added to a waiter's token that it gave up
)

type roomState struct {
	keys    [masters]uint8
	waiters [maxWaiters]roomWaiter
	strays  uint8 // how often a waiter was granted beside the holder
}

type roomWaiter struct {
	values [masters]uint8 // as last heard
	asked  [masters]bool  // its request is under way
	may    bool           // it asks to be granted
	split  bool           // it had grants before its last request
	passes [masters]bool  // the pass of its token before is under way
	leader uint8          // whom those passes name
}

func token(w int) uint8 { return firstWaiter + uint8(w) }

// rests reports whether the line has come to rest.
func (m *roomModel) rests(s *roomState) bool {
	if !m.Gone {
		return s.keys == [masters]uint8{holder, holder, holder}
	}
	for w := range m.Waiters {
		if m.votes(&s.keys, token(w)) >= quorum.Size(masters) {
			return true
		}
	}
	return false
}

func (m *roomModel) votes(values *[masters]uint8, of uint8) (n int) {
	for _, v := range values {
		if v == of {
			n++
		}
	}
	return n
}

// Search visits every state. It looks for one from which the line cannot come to rest, or in which waiters were granted beside
// a holder more often than once each.
func (m *roomModel) Search() Result {
	states, before, broken := m.all()
	if broken != nil {
		return *broken
	}
	rest := make([]bool, len(states)) // it is reached from there
	var next []int
	for i := range states {
		if m.rests(&states[i]) {
			rest[i], next = true, append(next, i)
		}
	}
	r := Result{States: len(states), Counted: min(len(next), 1)}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		for _, j := range before[i] {
			if !rest[j] {
				rest[j], next = true, append(next, j)
			}
		}
	}
	if i := slices.Index(rest, false); i >= 0 {
		r.Broken, r.Trace = "the line does not come to rest", []string{states[i].String()}
	}
	return r
}

// all returns every state, and which states come before each.
func (m *roomModel) all() (states []roomState, before [][]int, broken *Result) {
	start := roomState{keys: [masters]uint8{holder, holder, nobody}}
	for w := range m.Waiters {
		start.waiters[w] = roomWaiter{values: [masters]uint8{unheard, unheard, unheard}, asked: [masters]bool{true, true, true}, may: m.Fault != neverMay}
	}
	states, before = []roomState{start}, [][]int{nil}
	known := map[roomState]int{start: 0}
	for i := 0; i < len(states); i++ {
		if int(states[i].strays) > m.Waiters {
			return nil, nil, &Result{States: len(states), Broken: "waiters take a holder's room again and again", Trace: []string{states[i].String()}}
		}
		m.steps(states[i], func(t roomState) {
			to, seen := known[t]
			if !seen {
				to = len(states)
				known[t], states, before = to, append(states, t), append(before, nil)
			}
			before[to] = append(before[to], i)
		})
	}
	return states, before, nil
}

// steps finds all possible next steps.
func (m *roomModel) steps(s roomState, goes func(roomState)) {
	for i, key := range s.keys {
		t := s
		switch {
		case m.Gone && key == holder:
			t.keys[i] = nobody
			goes(t)
		case !m.Gone && key == nobody:
			t.keys[i] = holder // it heals
			goes(t)
		}
	}
	for w := range m.Waiters {
		waits := s.waiters[w].asked == [masters]bool{}
		for i := range masters {
			switch with := &s.waiters[w]; {
			case with.passes[i]:
				goes(m.pass(s, w, i))
			case with.asked[i]:
				goes(m.wait(s, w, i))
			}
		}
		if waits && m.votes(&s.waiters[w].values, token(w)) < quorum.Size(masters) {
			goes(m.decide(s, w))
		}
	}
}

// pass executes the pass of a token that was given up.
func (m *roomModel) pass(t roomState, w, i int) roomState {
	with := &t.waiters[w]
	if with.passes[i] = false; t.keys[i] == token(w)+given {
		t.keys[i] = with.leader
	}
	if with.passes == [masters]bool{} {
		with.leader = nobody
	}
	return t
}

// wait executes a request.
func (m *roomModel) wait(t roomState, w, i int) roomState {
	with := &t.waiters[w]
	if with.asked[i] = false; t.keys[i] == nobody && with.may {
		if t.keys[i] = token(w); !m.Gone {
			t.strays++
		}
	}
	with.values[i] = t.keys[i]
	return t
}

// decide is what a waiter does when all masters have answered.
func (m *roomModel) decide(t roomState, w int) roomState {
	with, own := &t.waiters[w], token(w)
	terms := line.Terms[tick]{Masters: masters, Quorum: quorum.Size(masters)}
	at := line.Waiter[uint8, tick]{Terms: terms, Own: own, Seats: make([]line.Seat[tick], masters), Values: with.values[:], Queued: !with.may, Split: with.split}
	for i, v := range with.values {
		switch v {
		case own:
			at.Seats[i].Ends = 1 // there is no time
		case nobody:
			at.Free |= 1 << i
		}
	}
	if do := at.Answered(0); do.Leave && !(do.Nobody && m.Fault == keepsStray) {
		leader := do.Leader
		if leader >= given || leader < firstWaiter {
			leader = nobody
		}
		m.giveUp(&t, w, leader)
		at = at.Join(own)
	}
	r, _ := at.Request(0)
	with.may = !r.Queued
	switch m.Fault {
	case alwaysMay:
		with.may = true
	case neverMay:
		with.may = false
	}
	with.split, with.asked = at.Split, [masters]bool{true, true, true}
	return t
}

// giveUp has a waiter pass its token and go on with a fresh one.
func (m *roomModel) giveUp(t *roomState, w int, leader uint8) {
	with := &t.waiters[w]
	with.passes, with.leader = [masters]bool{true, true, true}, leader
	for i := range masters {
		if t.keys[i] == token(w) {
			t.keys[i] += given
		}
		if with.values[i] == token(w) {
			with.values[i] = unheard
		}
	}
}

func (s *roomState) String() string { return fmt.Sprintf("keys %v, waiters %+v", s.keys, s.waiters) }
