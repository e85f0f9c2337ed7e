package model

import "testing"

// Claims, by the length of their leases.
var (
	r1 = claim{reads: true, ttl: 1}
	r2 = claim{reads: true, ttl: 2}
	r3 = claim{reads: true, ttl: 3}
	w1 = claim{ttl: 1}
	w2 = claim{ttl: 2}
	w3 = claim{ttl: 3}
)

// soundReaders are readers and writers with all rules. The package comment has the number of their states.
var soundReaders = []struct {
	readersModel
	states int
}{
	{readersModel{Name: "a reader and a writer, longer leases", Claims: []claim{r2, w2}, Horizon: 3}, 9679},
	{readersModel{Name: "a reader's lease is joined", Claims: []claim{r2, w2}, Horizon: 3, Joins: true, Extends: true}, 38490},
	{readersModel{Name: "a master restarts empty", Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 91060},
	{readersModel{Name: "connections break", Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Cuts: true}, 96727},
	{readersModel{Name: "three readers, and some run out", Claims: []claim{r2, r1, r1}, Horizon: 1}, 104264},
	{readersModel{Name: "two readers are extended, a master restarts empty", Claims: []claim{r2, r1}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 120851},
	{readersModel{Name: "two readers and a writer, with intents", Claims: []claim{r1, r1, w1}, Horizon: 1, Intent: 1}, 123474},
	{readersModel{Name: "fenced, a reader and two writers", Claims: []claim{r1, w1, w1}, Fencing: true}, 125870},
	{readersModel{Name: "leases of three ticks are extended", Claims: []claim{r3, w3}, Horizon: 5, Extends: true}, 137231},
	{readersModel{Name: "fenced, a reader and a writer are extended", Claims: []claim{r2, w2}, Horizon: 3, Fencing: true, Apart: true, Extends: true}, 142604},
	{readersModel{Name: "a reader is added in two steps, connections break", Fault: looksFirst, Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Cuts: true}, 159239},
	{readersModel{Name: "two readers and a writer", Claims: []claim{r2, r1, w1}, Horizon: 2}, 177751},
	{readersModel{Name: "two readers and a writer, a master restarts empty", Claims: []claim{r1, r1, w1}, Horizon: 1, Wait: 1, Crashes: 1}, 180181},
	{readersModel{Name: "a reader and two writers, with intents", Claims: []claim{r2, w1, w1}, Horizon: 2, Intent: 1}, 226292},
	{readersModel{Name: "two readers and a writer, with longer leases and intents", Claims: []claim{r2, r1, w1}, Horizon: 2, Intent: 1}, 328151},
	{readersModel{Name: "two readers and a writer, with intents, a master restarts empty", Claims: []claim{r1, r1, w1}, Horizon: 1, Intent: 1, Wait: 1, Crashes: 1}, 333095},
	{readersModel{Name: "two readers and a writer, longer leases, a master restarts empty", Claims: []claim{r2, r1, w1}, Horizon: 2, Wait: 2, Crashes: 1}, 354710},
	{readersModel{Name: "two readers are added in two steps", Fault: looksFirst, Claims: []claim{r2, r1, w1}, Horizon: 1}, 396026},
	{readersModel{Name: "three ticks, a master restarts empty", Claims: []claim{r3, w3}, Horizon: 5, Extends: true, Wait: 3, Crashes: 1}, 398739},
	{readersModel{Name: "fenced, a reader and two writers, registers apart", Claims: []claim{r1, w1, w1}, Fencing: true, Apart: true}, 407071},
	{readersModel{Name: "fenced, two readers and a writer, registers apart", Claims: []claim{r1, r1, w1}, Horizon: 1, Fencing: true, Apart: true}, 413021},
	{readersModel{Name: "masters restart empty twice, connections break", Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Cuts: true, Wait: 2, Crashes: 2}, 611722},
	{readersModel{Name: "fenced, registers increase for readers, too", Fault: readersOnlyIncrease, Claims: []claim{r1, w1, w1}, Fencing: true, Apart: true}, 682377},
	{readersModel{Name: "two readers and a writer, with intents, connections break", Claims: []claim{r2, r1, w1}, Horizon: 1, Intent: 1, Cuts: true}, 729206},
	{readersModel{Name: "two readers and a writer, all leases longer", Claims: []claim{r2, r2, w2}, Horizon: 3}, 856674},
	{readersModel{Name: "two readers and a writer are extended", Claims: []claim{r2, r1, w1}, Horizon: 2, Extends: true}, 1079240},
	{readersModel{Name: "two readers and two writers, no time passes", Claims: []claim{r1, r1, w1, w1}}, 1166153},
}

func TestRulesOfReadersHoldInEveryState(t *testing.T) {
	t.Parallel()
	for _, m := range soundReaders {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			requireSound(t, m.Search, m.states, len(m.Claims))
		})
	}
}

// readersControls are models without one rule each.
var readersControls = []struct {
	readersModel
	broken property
}{
	{readersModel{Name: "readers are counted", Fault: countsReaders, Claims: []claim{r1, r1, w1}, Horizon: 1}, twoHolders},
	{readersModel{Name: "a master looks whether a reader may, and then adds it to a key of its own", Fault: ownKey, Claims: []claim{r1, w1}}, twoHolders},
	{readersModel{Name: "the key expires with the reader that came last", Fault: latestCame, Claims: []claim{r2, r1, w1}, Horizon: 1}, twoHolders},
	{readersModel{Name: "the key expires with the reader that extended last", Fault: latestExtended, Extends: true, Claims: []claim{r2, r1, w1}, Horizon: 1}, twoHolders},
	{readersModel{Name: "an intent is a vote", Fault: intentVotes, Intent: 1, Claims: []claim{r1, w1}}, twoHolders},
	{readersModel{Name: "readers are removed by the clock of the caller", Fault: callersClock, Claims: []claim{r1, r2, w1}}, twoHolders},
	{readersModel{Name: "one grant is enough to read", Fault: oneReads, Claims: []claim{r1, w1}}, twoHolders},
	{readersModel{Name: "a writer's release deletes any key", Fault: releasesAny, Claims: []claim{r1, w1, w1}}, twoHolders},
	{readersModel{Name: "a restarted master votes at once", Fault: restartVotes, Wait: 1, Crashes: 1, Claims: []claim{r1, w1}}, twoHolders},
	{readersModel{Name: "a restarted master grants readers at once", Fault: restartReads, Wait: 1, Crashes: 1, Claims: []claim{r1, w1}}, twoHolders},
	{readersModel{Name: "the wait is a tick too short", Wait: 1, Horizon: 1, Crashes: 1, Claims: []claim{r2, w1}}, twoHolders},
	{readersModel{Name: "a reader hands over to a writer of its process", Fault: readerHandsOver, Claims: []claim{r1, r1}}, twoHolders},
	{readersModel{Name: "a release leaves the expiry of the key", Fault: expiryStays, Claims: []claim{r2, r1}, Horizon: 1}, leaked},
	{readersModel{Name: "an extend adds a token that is gone", Fault: extendAdds, Claims: []claim{r2}, Extends: true, Cuts: true}, leaked},
	{readersModel{Name: "an extend adds a token, at a restarted master", Fault: extendAdds, Claims: []claim{r2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, twoHolders},
	{readersModel{Name: "readers have fences", Fault: readersHaveFences, Fencing: true, Apart: true, Claims: []claim{r1, w1}}, fenceNotLarger},
}

func TestEachRuleOfReadersIsNeeded(t *testing.T) {
	t.Parallel()
	for _, m := range readersControls {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			m.Only, m.Most = m.broken, most(t)
			requireBroken(t, m.Search)
		})
	}
}
