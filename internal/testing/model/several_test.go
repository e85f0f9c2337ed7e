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

// soundSeveral are sets with all rules. The package comment has the number of their states.
var soundSeveral = []struct {
	severalModel
	states int
}{
	{severalModel{Name: "two sets, longer leases", Sets: []keySet{ab, bc}, TTL: 2, Horizon: 3}, 154977},
	{severalModel{Name: "two sets, dropped unsent", Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Unsent: true}, 69921},
	{severalModel{Name: "two sets, connections break", Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Cuts: true}, 251190},
	{severalModel{Name: "two sets are extended", Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Extends: true}, 283896},
	{severalModel{Name: "a master restarts empty", Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Wait: 1, Crashes: 1}, 92205},
	{severalModel{Name: "a master restarts empty, longer leases", Sets: []keySet{ab, bc}, TTL: 2, Horizon: 3, Wait: 2, Crashes: 1}, 274766},
	{severalModel{Name: "two sets and a single name, no time passes", Sets: []keySet{ab, bc, b}, TTL: 1}, 281943},
	{severalModel{Name: "a set twice, connections break, dropped unsent", Sets: []keySet{ab, ab}, TTL: 1, Horizon: 2, Unsent: true, Cuts: true}, 372528},
	{severalModel{Name: "a set and a single name are extended", Sets: []keySet{ab, b}, TTL: 2, Horizon: 3, Extends: true}, 429078},
	{severalModel{Name: "two sets and a single name", Sets: []keySet{ab, bc, b}, TTL: 1, Horizon: 1}, 563886},
	{severalModel{Name: "a set and a single name are extended, a master restarts empty", Sets: []keySet{ab, b}, TTL: 2, Horizon: 3, Wait: 2, Crashes: 1, Extends: true}, 835798},
	{severalModel{Name: "a set twice, and another", Sets: []keySet{ab, ab, bc}, TTL: 1, Horizon: 1}, 915250},
	{severalModel{Name: "three sets, each meets both others", Sets: []keySet{ab, bc, ca}, TTL: 1, Horizon: 1}, 1368852},
	{severalModel{Name: "two sets and a single name, a master restarts empty", Sets: []keySet{ab, bc, b}, TTL: 1, Horizon: 1, Wait: 1, Crashes: 1}, 1451749},
	{severalModel{Name: "a master restarts empty, connections break, dropped unsent", Sets: []keySet{ab, bc}, TTL: 1, Horizon: 2, Wait: 1, Crashes: 1, Unsent: true, Cuts: true}, 2026191},
}

func TestRulesOfSeveralNamesHoldInEveryState(t *testing.T) {
	t.Parallel()
	for _, m := range soundSeveral {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			requireSound(t, m.Search, m.states, len(m.Sets))
		})
	}
}

// severalControls are models without one rule each.
var severalControls = []struct {
	severalModel
	broken property
}{
	{severalModel{Name: "a master that granted any name votes for all", Fault: anyNameVotes, Sets: []keySet{ab, bc}, TTL: 1}, twoHolders},
	{severalModel{Name: "a master that granted any name votes for all, and no quorum has all", Fault: anyNameVotes, Sets: []keySet{ab, bc}, TTL: 1}, half},
	{severalModel{Name: "a retry has the tokens of the attempt before", Fault: tokensAreReused, Sets: []keySet{ab, ab, bc}, TTL: 1, Cuts: true}, twoHolders},
	{severalModel{Name: "names are taken one by one, validity counts from the last", Fault: oneByOne, Sets: []keySet{bc, b}, TTL: 2, Horizon: 2}, twoHolders},
	{severalModel{Name: "names are taken one by one, and no quorum has all", Fault: oneByOne, Sets: []keySet{bc, b}, TTL: 1}, half},
	{severalModel{Name: "a set is valid as long as one of its names", Fault: longestCounts, Sets: []keySet{ab, b}, TTL: 2, Horizon: 2, Extends: true}, twoHolders},
	{severalModel{Name: "a restarted master votes at once", Fault: restartVotesAtOnce, Wait: 1, Crashes: 1, Sets: []keySet{ab, bc}, TTL: 1}, twoHolders},
	{severalModel{Name: "the wait is a tick too short", Wait: 1, Horizon: 1, Crashes: 1, Sets: []keySet{ab, bc}, TTL: 2}, twoHolders},
	{severalModel{Name: "one is a quorum", Fault: oneOfThree, Sets: []keySet{ab, bc}, TTL: 1}, twoHolders},

	// One acquire is for all names of a set, so it is sent even though the release of one name was dropped. The key of that
	// name then stays until it expires, and keeps everybody out.
	{severalModel{Name: "the release of a name is dropped unsent, the acquire of its set is not", Fault: dropsReleaseOnly, Sets: []keySet{ab}, TTL: 1, Unsent: true}, leaked},
}

func TestEachRuleOfSeveralNamesIsNeeded(t *testing.T) {
	t.Parallel()
	for _, m := range severalControls {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			m.Only, m.Most = m.broken, most(t)
			requireBroken(t, m.Search)
		})
	}
}
