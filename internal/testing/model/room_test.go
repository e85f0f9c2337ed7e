package model

import "testing"

// rooms are lines with all rules. The package comment has the number of their states.
var rooms = []struct {
	name string
	roomModel
	states int
}{
	{"a holder and one waiter", roomModel{Waiters: 1}, 98},
	{"a holder and two waiters", roomModel{Waiters: 2}, 12161},
	{"the holder is gone, one waiter", roomModel{Waiters: 1, Gone: true}, 347},
	{"the holder is gone, two waiters", roomModel{Waiters: 2, Gone: true}, 279738},
}

func TestRulesOfRoomBringTheLineToRest(t *testing.T) {
	t.Parallel()
	for _, m := range rooms {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			requireSound(t, m.Search, m.states, 1)
		})
	}
}

func TestEachRuleOfRoomIsNeeded(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name string
		roomModel
	}{
		{"a waiter always asks to be granted", roomModel{Waiters: 1, Fault: alwaysMay}},
		{"a waiter never asks to be granted", roomModel{Waiters: 1, Gone: true, Fault: neverMay}},
		{"a waiter keeps its strays", roomModel{Waiters: 1, Fault: keepsStray}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			requireBroken(t, m.Search)
		})
	}
}
