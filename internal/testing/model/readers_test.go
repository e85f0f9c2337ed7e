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

// soundReaders are readers and writers with all rules.
var soundReaders = []soundModel{
	{"a reader and a writer, longer leases", &readersModel{Claims: []claim{r2, w2}, Horizon: 3}, 9679, 2},
	{"a reader's lease is joined", &readersModel{Claims: []claim{r2, w2}, Horizon: 3, Joins: true, Extends: true}, 38490, 2},
	{"a master restarts empty", &readersModel{Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 91060, 2},
	{"connections break", &readersModel{Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Cuts: true}, 96727, 2},
	{"three readers, and some run out", &readersModel{Claims: []claim{r2, r1, r1}, Horizon: 1}, 104264, 3},
	{"two readers are extended, a master restarts empty", &readersModel{Claims: []claim{r2, r1}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 120851, 2},
	{"two readers and a writer, with intents", &readersModel{Claims: []claim{r1, r1, w1}, Horizon: 1, Intent: 1}, 123474, 3},
	{"fenced, a reader and two writers", &readersModel{Claims: []claim{r1, w1, w1}, Fencing: true}, 125870, 3},
	{"leases of three ticks are extended", &readersModel{Claims: []claim{r3, w3}, Horizon: 5, Extends: true}, 137231, 2},
	{"fenced, a reader and a writer are extended", &readersModel{Claims: []claim{r2, w2}, Horizon: 3, Fencing: true, Apart: true, Extends: true}, 142604, 2},
	{"a reader is added in two steps, connections break", &readersModel{Fault: looksFirst, Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Cuts: true}, 159239, 2},
	{"two readers and a writer", &readersModel{Claims: []claim{r2, r1, w1}, Horizon: 2}, 177751, 3},
	{"two readers and a writer, a master restarts empty", &readersModel{Claims: []claim{r1, r1, w1}, Horizon: 1, Wait: 1, Crashes: 1}, 180181, 3},
	{"a reader and two writers, with intents", &readersModel{Claims: []claim{r2, w1, w1}, Horizon: 2, Intent: 1}, 226292, 3},
	{"two readers and a writer, with longer leases and intents", &readersModel{Claims: []claim{r2, r1, w1}, Horizon: 2, Intent: 1}, 328151, 3},
	{"two readers and a writer, with intents, a master restarts empty", &readersModel{Claims: []claim{r1, r1, w1}, Horizon: 1, Intent: 1, Wait: 1, Crashes: 1}, 333095, 3},
	{"two readers and a writer, longer leases, a master restarts empty", &readersModel{Claims: []claim{r2, r1, w1}, Horizon: 2, Wait: 2, Crashes: 1}, 354710, 3},
	{"two readers are added in two steps", &readersModel{Fault: looksFirst, Claims: []claim{r2, r1, w1}, Horizon: 1}, 396026, 3},
	{"three ticks, a master restarts empty", &readersModel{Claims: []claim{r3, w3}, Horizon: 5, Extends: true, Wait: 3, Crashes: 1}, 398739, 2},
	{"fenced, a reader and two writers, registers apart", &readersModel{Claims: []claim{r1, w1, w1}, Fencing: true, Apart: true}, 407071, 3},
	{"fenced, two readers and a writer, registers apart", &readersModel{Claims: []claim{r1, r1, w1}, Horizon: 1, Fencing: true, Apart: true}, 413021, 3},
	{"masters restart empty twice, connections break", &readersModel{Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Cuts: true, Wait: 2, Crashes: 2}, 611722, 2},
	{"fenced, registers increase for readers, too", &readersModel{Fault: readersOnlyIncrease, Claims: []claim{r1, w1, w1}, Fencing: true, Apart: true}, 682377, 3},
	{"two readers and a writer, with intents, connections break", &readersModel{Claims: []claim{r2, r1, w1}, Horizon: 1, Intent: 1, Cuts: true}, 729206, 3},
	{"two readers and a writer, all leases longer", &readersModel{Claims: []claim{r2, r2, w2}, Horizon: 3}, 856674, 3},
	{"two readers and a writer are extended", &readersModel{Claims: []claim{r2, r1, w1}, Horizon: 2, Extends: true}, 1079240, 3},
	{"two readers and two writers, no time passes", &readersModel{Claims: []claim{r1, r1, w1, w1}}, 1166153, 4},
}

func TestRulesOfReadersHoldInEveryState(t *testing.T) { requireSound(t, soundReaders) }

// readersControls are models without one rule each.
var readersControls = []brokenModel{
	{"readers are counted", &readersModel{Fault: countsReaders, Claims: []claim{r1, r1, w1}, Horizon: 1}, twoHolders},
	{"a master looks whether a reader may, and then adds it to a key of its own", &readersModel{Fault: ownKey, Claims: []claim{r1, w1}}, twoHolders},
	{"the key expires with the reader that came last", &readersModel{Fault: latestCame, Claims: []claim{r2, r1, w1}, Horizon: 1}, twoHolders},
	{"the key expires with the reader that extended last", &readersModel{Fault: latestExtended, Extends: true, Claims: []claim{r2, r1, w1}, Horizon: 1}, twoHolders},
	{"an intent is a vote", &readersModel{Fault: intentVotes, Intent: 1, Claims: []claim{r1, w1}}, twoHolders},
	{"readers are removed by the clock of the caller", &readersModel{Fault: callersClock, Claims: []claim{r1, r2, w1}}, twoHolders},
	{"one grant is enough to read", &readersModel{Fault: oneReads, Claims: []claim{r1, w1}}, twoHolders},
	{"a writer's release deletes any key", &readersModel{Fault: releasesAny, Claims: []claim{r1, w1, w1}}, twoHolders},
	{"a restarted master votes at once", &readersModel{Fault: restartVotes, Wait: 1, Crashes: 1, Claims: []claim{r1, w1}}, twoHolders},
	{"a restarted master grants readers at once", &readersModel{Fault: restartReads, Wait: 1, Crashes: 1, Claims: []claim{r1, w1}}, twoHolders},
	{"the wait is a tick too short", &readersModel{Wait: 1, Horizon: 1, Crashes: 1, Claims: []claim{r2, w1}}, twoHolders},
	{"a reader hands over to a writer of its process", &readersModel{Fault: readerHandsOver, Claims: []claim{r1, r1}}, twoHolders},
	{"a release leaves the expiry of the key", &readersModel{Fault: expiryStays, Claims: []claim{r2, r1}, Horizon: 1}, leaked},
	{"an extend adds a token that is gone", &readersModel{Fault: extendAdds, Claims: []claim{r2}, Extends: true, Cuts: true}, leaked},
	{"an extend adds a token, at a restarted master", &readersModel{Fault: extendAdds, Claims: []claim{r2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, twoHolders},
	{"readers have fences", &readersModel{Fault: readersHaveFences, Fencing: true, Apart: true, Claims: []claim{r1, w1}}, fenceNotLarger},
}

func TestEachRuleOfReadersIsNeeded(t *testing.T) { requireBroken(t, readersControls) }
