package model

import "testing"

// Orders in which slots are asked for.
var (
	one    = [][]int{{0}}
	either = [][]int{{0, 1}, {1, 0}}
	some   = [][]int{{0, 1}, {1, 2}, {2, 0}} // two of three
)

// soundPermits are permits with all rules.
var soundPermits = []soundModel{
	{"two attempts, two permits", &severalModel{Sets: []keySet{ab, ab}, Orders: either, TTL: 1, Horizon: 1}, 8982, 2},
	{"longer leases", &severalModel{Sets: []keySet{ab, ab}, Orders: either, TTL: 2, Horizon: 3}, 79152, 2},
	{"three attempts, one permit, a master restarts empty", &severalModel{Sets: []keySet{a, a, a}, Orders: one, TTL: 1, Horizon: 1, Wait: 1, Crashes: 1}, 148875, 3},
	{"a master restarts empty", &severalModel{Sets: []keySet{ab, ab}, Orders: either, TTL: 2, Horizon: 3, Wait: 2, Crashes: 1}, 174420, 2},
	{"connections break", &severalModel{Sets: []keySet{ab, ab}, Orders: either, TTL: 1, Horizon: 2, Cuts: true}, 209601, 2},
	{"three attempts, two permits, one order", &severalModel{Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1, Horizon: 1}, 368466, 3},
	{"dropped unsent", &severalModel{Sets: []keySet{ab, ab}, Orders: either, TTL: 1, Horizon: 2, Unsent: true, Cuts: true}, 483957, 2},
	{"three attempts, two permits, no time passes", &severalModel{Sets: []keySet{ab, ab, ab}, Orders: either, TTL: 1}, 635415, 3},
	{"three attempts, two permits, a master restarts empty", &severalModel{Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1, Horizon: 1, Wait: 1, Crashes: 1}, 1005699, 3},
	{"three attempts, two permits", &severalModel{Sets: []keySet{ab, ab, ab}, Orders: either, TTL: 1, Horizon: 1}, 1270830, 3},
	{"three attempts, three permits, each asks for two", &severalModel{Sets: []keySet{abc, abc, abc}, Orders: some, TTL: 1}, 2206323, 3},
}

func TestRulesOfPermitsHoldInEveryState(t *testing.T) { requireSound(t, soundPermits) }

// permitsControls are models without one rule each.
var permitsControls = []brokenModel{
	{"masters count their permits", &severalModel{Fault: countsUnits, Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1}, tooMany},
	{"votes count whatever the slot", &severalModel{Fault: anySlotVotes, Sets: []keySet{ab, ab, ab}, Orders: either, TTL: 1}, tooMany},
	{"votes count whatever the slot, and two have one", &severalModel{Fault: anySlotVotes, Sets: []keySet{ab, ab}, Orders: either, TTL: 1}, twoHolders},
	{"a master grants every slot that is free", &severalModel{Fault: grantsEach, Sets: []keySet{ab}, Orders: either, TTL: 1}, wonTwice},
	{"validity counts from the completion", &severalModel{Fault: fromCompletion, Sets: []keySet{a, a}, Orders: one, TTL: 2, Horizon: 3}, twoHolders},
	{"a restarted master votes at once", &severalModel{Fault: restartVotesAtOnce, Wait: 1, Crashes: 1, Sets: []keySet{a, a}, Orders: one, TTL: 1}, twoHolders},
	{"a restarted master votes at once, and more hold than may", &severalModel{Fault: restartVotesAtOnce, Wait: 1, Crashes: 1, Sets: []keySet{ab, ab, ab}, Orders: either[:1], TTL: 1}, tooMany},
	{"the wait is a tick too short", &severalModel{Wait: 1, Horizon: 1, Crashes: 1, Sets: []keySet{a, a}, Orders: one, TTL: 2}, twoHolders},
	{"one is a quorum", &severalModel{Fault: oneOfThree, Sets: []keySet{a, a}, Orders: one, TTL: 1}, twoHolders},
	{"what was granted beside the slot that was won stays", &severalModel{Fault: surplusStays, Sets: []keySet{ab, ab}, Orders: either, TTL: 1}, leaked},
}

func TestEachRuleOfPermitsIsNeeded(t *testing.T) { requireBroken(t, permitsControls) }
