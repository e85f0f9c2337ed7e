package model

import "testing"

// soundHeals are models with all rules whose holders heal.
var soundHeals = []soundModel{
	{"heals are queued, a master restarts, connections break", &readersModel{Heals: true, Queue: true, Claims: []claim{w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1, Cuts: true}, 7486, 1},
	{"a revealed token, a master restarts, connections break", &readersModel{Heals: true, Reveals: true, Only: leaked, Claims: []claim{w1, w1}, Horizon: 1, Extends: true, Wait: 2, Crashes: 1, Cuts: true}, 215480, 2},
	{"two writers", &readersModel{Heals: true, Claims: []claim{w2, w2}, Horizon: 3, Extends: true}, 103964, 2},
	{"two writers, a master restarts", &readersModel{Heals: true, Claims: []claim{w2, w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 295487, 2},
	{"a reader and a writer, a master restarts", &readersModel{Heals: true, Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 324421, 2},
	{"a reader and a writer, with intents, a master restarts", &readersModel{Heals: true, Intent: 1, Claims: []claim{r2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, 151560, 2},
	{"two writers, a master restarts, connections break", &readersModel{Heals: true, Claims: []claim{w2, w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1, Cuts: true}, 1659201, 2},
	{"two writers, masters restart twice", &readersModel{Heals: true, Claims: []claim{w2, w2}, Horizon: 4, Extends: true, Wait: 2, Crashes: 2}, 1677175, 2},
	{"a reader and a writer, a master restarts, connections break", &readersModel{Heals: true, Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1, Cuts: true}, 1826214, 2},
	{"three writers, a master restarts", &readersModel{Heals: true, Claims: []claim{w1, w1, w1}, Horizon: 1, Extends: true, Wait: 1, Crashes: 1}, 3155602, 3},
	{"three writers, one with a longer lease, a master restarts", &readersModel{Heals: true, Claims: []claim{w2, w1, w1}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, 5324094, 3},
	{"three writers, longer leases, a master restarts", &readersModel{Heals: true, Claims: []claim{w2, w2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, 10084697, 3},
	{"a reader heals for a shorter time, a master restarts", &readersModel{Heals: true, Short: true, Claims: []claim{r2, w2}, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 327844, 2},
	{"fenced, two writers", &readersModel{Heals: true, Fencing: true, Apart: true, Claims: []claim{w2, w2}, Horizon: 3, Extends: true}, 476175, 2},

	{"a set of two names, a master restarts", &severalModel{Heals: true, Sets: []keySet{ab}, TTL: 2, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 97143, 1},
	{"a set of two names and one of them, a master restarts", &severalModel{Heals: true, Sets: []keySet{ab, b}, TTL: 1, Horizon: 1, Extends: true, Wait: 1, Crashes: 1}, 1351057, 2},
	{"a set of two names and one of them, longer leases", &severalModel{Heals: true, Sets: []keySet{ab, b}, TTL: 2, Horizon: 2, Extends: true}, 3789597, 2},
	{"one permit, a master restarts", &severalModel{Heals: true, Sets: []keySet{a, a}, Orders: one, TTL: 2, Horizon: 3, Extends: true, Wait: 2, Crashes: 1}, 295487, 2},
	{"two permits, a master restarts", &severalModel{Heals: true, Sets: []keySet{ab, ab}, Orders: either[:1], TTL: 1, Horizon: 1, Extends: true, Wait: 1, Crashes: 1}, 578817, 2},

	{"fenced leases", &Model{Heals: true, Attempts: 2, Registers: apart, TTL: 1, Horizon: 2, Extensions: 1}, 1413180, 2},
	{"fenced, a master restarts", &Model{Heals: true, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1, Extensions: 1, ReadAtOnce: true}, 2842956, 2},
	{"fenced, a master is flushed", &Model{Heals: true, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Flushes: 1, Extensions: 1, ReadAtOnce: true}, 7451937, 2},

	{"a holder and one in line", &lineModel{Heals: true, Attempts: 2, InLine: 1, TTL: 2, Stale: 1, Horizon: 3, Extensions: 1}, 18485, 2},
	{"a holder and one in line, a master restarts", &lineModel{Heals: true, Attempts: 2, InLine: 1, TTL: 2, Stale: 1, Horizon: 3, Wait: 2, Crashes: 1, Extensions: 1}, 46123, 2},
	{"a holder and two in line, a master restarts", &lineModel{Heals: true, Attempts: 3, InLine: 2, TTL: 1, Horizon: 1, Wait: 1, Crashes: 1, Extensions: 1}, 128944, 3},
	{"a holder and one in line, masters restart twice, extended twice", &lineModel{Heals: true, Attempts: 2, InLine: 1, TTL: 2, Stale: 1, Horizon: 4, Wait: 2, Crashes: 2, Extensions: 2}, 236477, 2},
	{"a holder, one in line and a newcomer, a master restarts", &lineModel{Heals: true, Attempts: 3, InLine: 1, TTL: 1, Horizon: 1, Wait: 1, Crashes: 1, Extensions: 1}, 398169, 3},
	{"a holder and two in line, longer leases, a master restarts", &lineModel{Heals: true, Attempts: 3, InLine: 2, TTL: 2, Stale: 1, Horizon: 2, Wait: 2, Crashes: 1, Extensions: 1}, 1174359, 3},
	{"a holder, one in line and one without a line, a master restarts", &lineModel{Heals: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 2, Stale: 1, Horizon: 2, Wait: 2, Crashes: 1, Extensions: 1}, 2665232, 3},
	{"a holder, one in line and a newcomer, longer leases", &lineModel{Heals: true, Attempts: 3, InLine: 1, TTL: 2, Stale: 1, Horizon: 2, Extensions: 1}, 3721137, 3},
	{"fenced, a holder and one in line", &lineModel{Fencing: true, Heals: true, Attempts: 2, InLine: 1, TTL: 2, Stale: 1, Horizon: 2, Extensions: 1}, 28157, 2},
	{"fenced, a holder and one in line, masters restart twice, extended twice", &lineModel{Fencing: true, Heals: true, Attempts: 2, InLine: 1, TTL: 2, Stale: 1, Horizon: 4, Wait: 2, Crashes: 2, Extensions: 2}, 410425, 2},
	{"fenced, a holder, one in line and a newcomer, a master restarts", &lineModel{Fencing: true, Heals: true, Attempts: 3, InLine: 1, TTL: 1, Horizon: 1, Wait: 1, Crashes: 1, Extensions: 1}, 4335074, 3},
	{"fenced, a holder, one in line and one without a line, a flush", &lineModel{Fencing: true, Heals: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Horizon: 1, Wait: 1, Flushes: 1, Extensions: 1}, 4404092, 3},
}

func TestRulesOfHealsHoldInEveryState(t *testing.T) { requireSound(t, soundHeals) }

// healControls are models without one rule each.
var healControls = []brokenModel{
	{"a heal goes to a master that waits", &readersModel{Heals: true, Fault: healsWhereNoVote, Claims: []claim{w2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, twoHolders},
	{"a reader's heal goes to a master that waits", &readersModel{Heals: true, Fault: healsWhereNoVote, Claims: []claim{r2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, twoHolders},
	{"the extend creates the key", &readersModel{Fault: extendAdds, Claims: []claim{w2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, twoHolders},
	{"a heal counts from its answer", &readersModel{Heals: true, Fault: healVotes, Claims: []claim{w2, w2}, Horizon: 2, Extends: true, Cuts: true}, twoHolders},
	{"a heal overwrites another's key", &readersModel{Heals: true, Fault: healOverwrites, Claims: []claim{w2, w2}, Horizon: 2, Extends: true}, twoHolders},
	{"leases outlive the wait", &readersModel{Heals: true, Claims: []claim{w2, w2}, Horizon: 2, Extends: true, Wait: 1, Crashes: 1}, twoHolders},
	{"a restarted master votes at once, and is healed", &readersModel{Heals: true, Fault: restartVotes, Claims: []claim{w1, w1}, Horizon: 1, Wait: 1, Crashes: 1}, twoHolders},
	{"a reader's heal moves its end in", &readersModel{Heals: true, Short: true, Fault: healMovesIn, Claims: []claim{r2, w2}, Horizon: 2, Extends: true}, twoHolders},
	{"a lease heals whose validity is over", &readersModel{Heals: true, Fault: healsWhenOver, Claims: []claim{w1}, Horizon: 2, Extends: true}, heldAgain},
	{"a lease heals whose validity is over, fenced", &readersModel{Heals: true, Fault: healsWhenOver, Fencing: true, Claims: []claim{w1, w1}, Horizon: 1, Extends: true}, fenceNotLarger},
	{"a heal is repeated behind the release", &readersModel{Heals: true, Fault: healIsRepeated, Claims: []claim{w1}}, leaked},
	{"a heal stays in the queue", &readersModel{Heals: true, Queue: true, Fault: healStaysQueued, Claims: []claim{w1}}, leaked},
	{"a heal waits, and its master restarts meanwhile", &readersModel{Heals: true, Queue: true, Fault: healIsSentBlindly, Claims: []claim{w2, w2}, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, twoHolders},
	{"a heal is forgotten by a pending release", &readersModel{Heals: true, Fault: healIsForgotten, Claims: []claim{w1}, Cuts: true}, leaked},
	{"an extend that creates is late", &readersModel{Fault: extendAdds, Claims: []claim{w1}, Extends: true, Cuts: true}, leaked},
	{"a revealed token heals while the other process releases", &readersModel{Heals: true, Reveals: true, Fault: healsRevealed, Claims: []claim{w1}}, leaked},

	{"a heal of a name goes to a master that waits", &severalModel{Heals: true, Fault: keyHealsWhereNoVote, Sets: []keySet{ab, b}, TTL: 2, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, twoHolders},
	{"a heal of a name stays in the queue", &severalModel{Heals: true, Unsent: true, Fault: keyHealStaysQueued, Sets: []keySet{ab}, TTL: 1}, leaked},
	{"a heal of a permit goes to a master that waits", &severalModel{Heals: true, Fault: keyHealsWhereNoVote, Sets: []keySet{a, a}, Orders: one, TTL: 2, Horizon: 2, Extends: true, Wait: 2, Crashes: 1}, tooMany},
	{"a heal of a permit asks for any slot", &severalModel{Heals: true, Fault: slotHealsAsAsked, Sets: []keySet{ab}, Orders: either, TTL: 1}, leaked},

	{"a heal during a raise", &Model{Heals: true, Fault: HealBeforeCount, Attempts: 2, Registers: apart}, tokenOrder},
	{"a heal during a raise is a grant", &Model{Heals: true, Fault: HealIsGrant, Attempts: 2, Registers: apart}, tokenOrder},
	{"heals and extends need no mark", &Model{Heals: true, Fault: HealWithoutMark, Attempts: 2, Registers: apart, Clients: 1, TTL: 2, Wait: 2, Horizon: 2, Flushes: 1, Extensions: 1, ReadAtOnce: true}, twoHolders},

	{"a heal beside a line goes to a master that waits", &lineModel{Heals: true, Fault: healsInTheWait, Attempts: 2, InLine: 1, Stays: 1, TTL: 2, Stale: 1, Horizon: 2, Wait: 2, Crashes: 1, Extensions: 1}, twoHolders},
	{"a waiter counts a stray that it gave back", &lineModel{Heals: true, Fault: countsGivenBack, Attempts: 2, TTL: 1}, twoHolders},
}

func TestEachRuleOfHealsIsNeeded(t *testing.T) { requireBroken(t, healControls) }
