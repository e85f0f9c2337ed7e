package model

import "testing"

func TestRulesOfRoomBringTheLineToRest(t *testing.T) {
	requireSound(t, []soundModel{
		{"a holder and one waiter", &roomModel{Waiters: 1}, 98, 1},
		{"a holder and two waiters", &roomModel{Waiters: 2}, 12161, 1},
		{"the holder is gone, one waiter", &roomModel{Waiters: 1, Gone: true}, 347, 1},
		{"the holder is gone, two waiters", &roomModel{Waiters: 2, Gone: true}, 279738, 1},
	})
}

func TestEachRuleOfRoomIsNeeded(t *testing.T) {
	requireBroken(t, []brokenModel{
		{"a waiter always asks to be granted", &roomModel{Waiters: 1, Fault: alwaysMay}, 0},
		{"a waiter never asks to be granted", &roomModel{Waiters: 1, Gone: true, Fault: neverMay}, 0},
		{"a waiter keeps its strays", &roomModel{Waiters: 1, Fault: keepsStray}, 0},
	})
}
