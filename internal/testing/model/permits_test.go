package model

import "testing"

// Orders in which slots are asked for.
var (
	one    = [][]int{{0}}
	either = [][]int{{0, 1}, {1, 0}}
	some   = [][]int{{0, 1}, {1, 2}, {2, 0}} // two of three
)

// soundPermits are permits with all rules. The package comment has the number of their states.
var soundPermits = []struct {
	severalModel
	states int
}{
	{severalModel{Name: "two attempts, two permits", Sets: []keySet{ab, ab}, Orders: either, TTL: 1, Horizon: 1}, 8982},
	{severalModel{Name: "longer leases", Sets: []keySet{ab, ab}, Orders: either, TTL: 2, Horizon: 3}, 79152},
	{severalModel{Name: "three attempts, one permit, a master restarts empty", Sets: []keySet{a, a, a}, Orders: one, TTL: 1, Horizon: 1, Wait: 1, Crashes: 1}, 148875},
	{severalModel{Name: "a master restarts empty", Sets: []keySet{ab, ab}, Orders: either, TTL: 2, Horizon: 3, Wait: 2, Crashes: 1}, 174420},
	{severalModel{Name: "connections break", Sets: []keySet{ab, ab}, Orders: either, TTL: 1, Horizon: 2, Cuts: true}, 209601},
	{severalModel{Name: "three attempts, two permits, one order", Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1, Horizon: 1}, 368466},
	{severalModel{Name: "dropped unsent", Sets: []keySet{ab, ab}, Orders: either, TTL: 1, Horizon: 2, Unsent: true, Cuts: true}, 483957},
	{severalModel{Name: "three attempts, two permits, no time passes", Sets: []keySet{ab, ab, ab}, Orders: either, TTL: 1}, 635415},
	{severalModel{Name: "three attempts, two permits, a master restarts empty", Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1, Horizon: 1, Wait: 1, Crashes: 1}, 1005699},
	{severalModel{Name: "three attempts, two permits", Sets: []keySet{ab, ab, ab}, Orders: either, TTL: 1, Horizon: 1}, 1270830},
	{severalModel{Name: "three attempts, three permits, each asks for two", Sets: []keySet{abc, abc, abc}, Orders: some, TTL: 1}, 2206323},
}

func TestRulesOfPermitsHoldInEveryState(t *testing.T) {
	t.Parallel()
	for _, m := range soundPermits {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			requireSound(t, m.Search, m.states, len(m.Sets))
		})
	}
}

// permitsControls are models without one rule each.
var permitsControls = []struct {
	severalModel
	broken property
}{
	{severalModel{Name: "masters count their permits", Fault: countsUnits, Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1}, tooMany},
	{severalModel{Name: "votes count whatever the slot", Fault: anySlotVotes, Sets: []keySet{ab, ab, ab}, Orders: either, TTL: 1}, tooMany},
	{severalModel{Name: "votes count whatever the slot, and two have one", Fault: anySlotVotes, Sets: []keySet{ab, ab}, Orders: either, TTL: 1}, twoHolders},
	{severalModel{Name: "a master grants every slot that is free", Fault: grantsEach, Sets: []keySet{ab}, Orders: either, TTL: 1}, wonTwice},
	{severalModel{Name: "validity counts from the completion", Fault: fromCompletion, Sets: []keySet{a, a}, Orders: one, TTL: 2, Horizon: 3}, twoHolders},
	{severalModel{Name: "a restarted master votes at once", Fault: restartVotesAtOnce, Wait: 1, Crashes: 1, Sets: []keySet{a, a}, Orders: one, TTL: 1}, twoHolders},
	{severalModel{Name: "a restarted master votes at once, and more hold than may", Fault: restartVotesAtOnce, Wait: 1, Crashes: 1, Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1}, tooMany},
	{severalModel{Name: "the wait is a tick too short", Wait: 1, Horizon: 1, Crashes: 1, Sets: []keySet{a, a}, Orders: one, TTL: 2}, twoHolders},
	{severalModel{Name: "one is a quorum", Fault: oneOfThree, Sets: []keySet{a, a}, Orders: one, TTL: 1}, twoHolders},
	{severalModel{Name: "what was granted beside the slot that was won stays", Fault: surplusStays, Sets: []keySet{ab, ab}, Orders: either, TTL: 1}, leaked},
}

func TestEachRuleOfPermitsIsNeeded(t *testing.T) {
	t.Parallel()
	for _, m := range permitsControls {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			m.Only, m.Most = m.broken, most(t)
			requireBroken(t, m.Search)
		})
	}
}
