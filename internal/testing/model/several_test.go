package model

import "testing"

// Sets of the keys a, b and c.
const (
	a keySet = 1 << iota
	b
	c
	ab  = a | b
	bc  = b | c
	ca  = c | a
	abc = a | b | c
)

// soundSeveral are sets with all rules.
var soundSeveral = []soundModel{
	{"two sets, longer leases", &severalModel{Sets: []keySet{ab, bc}, TTL: 2, Horizon: 3}, 154977, 2},
	{"two sets, dropped unsent", &severalModel{Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Unsent: true}, 69921, 2},
	{"two sets, connections break", &severalModel{Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Cuts: true}, 251190, 2},
	{"two sets are extended", &severalModel{Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Extends: true}, 283896, 2},
	{"a master restarts empty", &severalModel{Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Wait: 1, Crashes: 1}, 92205, 2},
	{"a master restarts empty, longer leases", &severalModel{Sets: []keySet{ab, bc}, TTL: 2, Horizon: 3, Wait: 2, Crashes: 1}, 274766, 2},
	{"two sets and a single name, no time passes", &severalModel{Sets: []keySet{ab, bc, b}, TTL: 1}, 281943, 3},
	{"a set twice, connections break, dropped unsent", &severalModel{Sets: []keySet{ab, ab}, TTL: 1, Horizon: 2, Unsent: true, Cuts: true}, 372528, 2},
	{"a set and a single name are extended", &severalModel{Sets: []keySet{ab, b}, TTL: 2, Horizon: 3, Extends: true}, 429078, 2},
	{"two sets and a single name", &severalModel{Sets: []keySet{ab, bc, b}, TTL: 1, Horizon: 1}, 563886, 3},
	{"a set and a single name are extended, a master restarts empty", &severalModel{Sets: []keySet{ab, b}, TTL: 2, Horizon: 3, Wait: 2, Crashes: 1, Extends: true}, 835798, 2},
	{"a set twice, and another", &severalModel{Sets: []keySet{ab, ab, bc}, TTL: 1, Horizon: 1}, 915250, 3},
	{"three sets, each meets both others", &severalModel{Sets: []keySet{ab, bc, ca}, TTL: 1, Horizon: 1}, 1368852, 3},
	{"two sets and a single name, a master restarts empty", &severalModel{Sets: []keySet{ab, bc, b}, TTL: 1, Horizon: 1, Wait: 1, Crashes: 1}, 1451749, 3},
	{"a master restarts empty, connections break, dropped unsent", &severalModel{Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Wait: 1, Crashes: 1, Unsent: true, Cuts: true}, 2026191, 2},
}

func TestRulesOfSeveralNamesHoldInEveryState(t *testing.T) { requireSound(t, soundSeveral) }

// severalControls are models without one rule each.
var severalControls = []brokenModel{
	{"a master that granted any name votes for all", &severalModel{Fault: anyNameVotes, Sets: []keySet{ab, bc}, TTL: 1}, twoHolders},
	{"a master that granted any name votes for all, and no quorum has all", &severalModel{Fault: anyNameVotes, Sets: []keySet{ab, bc}, TTL: 1}, half},
	{"a retry has the tokens of the attempt before", &severalModel{Fault: tokensAreReused, Sets: []keySet{ab, ab, bc}, TTL: 1, Cuts: true}, twoHolders},
	{"names are taken one by one, validity counts from the last", &severalModel{Fault: oneByOne, Sets: []keySet{bc, b}, TTL: 2, Horizon: 2}, twoHolders},
	{"names are taken one by one, and no quorum has all", &severalModel{Fault: oneByOne, Sets: []keySet{bc, b}, TTL: 1}, half},
	{"a set is valid as long as one of its names", &severalModel{Fault: longestCounts, Sets: []keySet{ab, b}, TTL: 2, Horizon: 2, Extends: true}, twoHolders},
	{"a restarted master votes at once", &severalModel{Fault: restartVotesAtOnce, Wait: 1, Crashes: 1, Sets: []keySet{ab, bc}, TTL: 1}, twoHolders},
	{"the wait is a tick too short", &severalModel{Wait: 1, Horizon: 1, Crashes: 1, Sets: []keySet{ab, bc}, TTL: 2}, twoHolders},
	{"one is a quorum", &severalModel{Fault: oneOfThree, Sets: []keySet{ab, bc}, TTL: 1}, twoHolders},

	// One acquire is for all names of a set, so it is sent even though the release of one name was dropped. The key of that
	// name then stays until it expires, and keeps everybody out.
	{"the release of a name is dropped unsent, the acquire of its set is not", &severalModel{Fault: dropsReleaseOnly, Sets: []keySet{ab}, TTL: 1, Unsent: true}, leaked},
}

func TestEachRuleOfSeveralNamesIsNeeded(t *testing.T) { requireBroken(t, severalControls) }
