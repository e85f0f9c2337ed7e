package model

import "testing"

// soundLines are lines with all rules.
var soundLines = []soundModel{
	{"two wait", &lineModel{Attempts: 2, TTL: 2, Stale: 1, Horizon: 3}, 343880, 2},
	{"two wait and stay", &lineModel{Attempts: 2, TTL: 1, Horizon: 1, Stays: 1}, 1501305, 2},
	{"one asks as without a line", &lineModel{Attempts: 2, Plain: 1, TTL: 2, Stale: 1, Horizon: 2}, 58481, 2},
	{"three, no time passes", &lineModel{Attempts: 3, TTL: 1}, 557900, 3},
	{"a holder and two in line", &lineModel{Attempts: 3, InLine: 2, TTL: 1, Horizon: 1}, 6806, 3},
	{"a holder and two in line, who stay", &lineModel{Attempts: 3, InLine: 2, TTL: 1, Horizon: 1, Stays: 1}, 1339604, 3},
	{"a holder, one in line and a newcomer", &lineModel{Attempts: 3, InLine: 1, TTL: 1, Horizon: 1}, 26128, 3},
	{"a holder, one in line and one without a line", &lineModel{Attempts: 3, InLine: 1, Plain: 4, TTL: 2, Stale: 1, Horizon: 2}, 87988, 3},
	{"leases are extended", &lineModel{Attempts: 2, InLine: 1, TTL: 2, Stale: 1, Horizon: 3, Extensions: 1}, 3857, 2},
	{"masters' clocks step", &lineModel{Attempts: 3, InLine: 1, Plain: 4, TTL: 2, Stale: 1, AnyLease: 2, Horizon: 2}, 134643, 3},
	{"a master restarts empty", &lineModel{Attempts: 2, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, 109126, 2},
	{"a master restarts empty, with a newcomer", &lineModel{Attempts: 3, InLine: 1, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1}, 43800, 3},
	{"a master restarts with old data", &lineModel{Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Stays: 1}, 6298835, 3},
	{"three wait", &lineModel{Attempts: 3, InLine: 1, TTL: 2, Stale: 1, Horizon: 3}, 325606, 3},
	{"three wait, none has begun", &lineModel{Attempts: 3, TTL: 1, Horizon: 1}, 1629902, 3},
	{"leases are extended, with a newcomer", &lineModel{Attempts: 3, InLine: 1, TTL: 2, Stale: 1, Horizon: 3, Extensions: 1}, 773263, 3},
	{"a master restarts empty, longer leases", &lineModel{Attempts: 2, TTL: 2, Stale: 1, Wait: 2, Horizon: 4, Crashes: 1}, 1779300, 2},
	{"fenced, two wait and stay", &lineModel{Fencing: true, Attempts: 2, TTL: 1, Horizon: 1, Stays: 1}, 5213169, 2},
	{"fenced, a holder, one in line and a newcomer, locks end at any time", &lineModel{Fencing: true, Vanish: true, Apart: true, Attempts: 3, InLine: 1, TTL: 1}, 3646873, 3},
	{"two wait and stay, longer leases", &lineModel{Attempts: 2, TTL: 2, Stale: 1, Horizon: 1, Stays: 1}, 9515929, 2},
	{"fenced, two wait", &lineModel{Fencing: true, Attempts: 2, TTL: 2, Stale: 1, Horizon: 3}, 671058, 2},
	{"fenced, a holder and two in line", &lineModel{Fencing: true, Attempts: 3, InLine: 2, TTL: 1, Horizon: 1}, 57152, 3},
	{"fenced, a holder, one in line and one without a line", &lineModel{Fencing: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Horizon: 1, Stays: 1}, 3845384, 3},
	{"fenced, locks end at any time", &lineModel{Fencing: true, Vanish: true, Apart: true, Attempts: 2, TTL: 1}, 865255, 2},
	{"fenced, a master restarts empty", &lineModel{Fencing: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1}, 426509, 3},
	{"fenced, a master is flushed", &lineModel{Fencing: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1}, 626089, 3},
}

func TestRulesOfTheLineHoldInEveryState(t *testing.T) { requireSound(t, soundLines) }

// lineControls are models without one rule each.
var lineControls = []brokenModel{
	{"validity counts from the arrival of a push", &lineModel{Fault: countsFromArrival, InLine: 1, Plain: 4, Horizon: 2, Attempts: 3, TTL: 1}, twoHolders},
	{"a holder passes before it stops", &lineModel{Fault: passesWhileHeld, Attempts: 2, TTL: 1}, twoHolders},
	{"grants of a token that was given up count", &lineModel{Fault: countsGivenUp, Attempts: 2, TTL: 1}, twoHolders},
	{"a restarted master is joined without the wait", &lineModel{Fault: votesWithoutWait, Wait: 1, Crashes: 1, Attempts: 2, TTL: 1}, twoHolders},
	{"the wait is a tick too short", &lineModel{Wait: 0, Horizon: 1, Crashes: 1, Attempts: 2, TTL: 1}, twoHolders},
	{"a pass does not compare the value", &lineModel{Fault: passIgnoresValue, InLine: 2, Attempts: 3, TTL: 1}, twoHolders},
	{"channels of old data are heard", &lineModel{Fault: deadChannelsHear, InLine: 2, Wait: 1, Rollbacks: 1, Attempts: 3, TTL: 1}, twoHolders},
	{"what may be told is taken back", &lineModel{Fault: takesBack, InLine: 2, Attempts: 3, TTL: 1}, twoHolders},
	{"a pass publishes first, and its SET is refused", &lineModel{Fault: publishesFirst, InLine: 2, Attempts: 3, TTL: 1}, twoHolders},
	{"one is a quorum", &lineModel{Fault: quorumTooSmall, Attempts: 2, TTL: 1}, twoHolders},
	{"a push for another's token counts", &lineModel{Fault: foreignTokenCounts, Attempts: 2, TTL: 1}, twoHolders},
	{"clocks step, and a lease outlives the wait", &lineModel{AnyLease: 2, InLine: 1, Wait: 1, Horizon: 1, Crashes: 1, Attempts: 3, TTL: 1}, twoHolders},
	{"a pass does not raise the register", &lineModel{Fault: passRaisesNothing, Fencing: true, InLine: 2, Attempts: 3, TTL: 1}, fenceNotLarger},
	{"a pass grants one more than the passer's", &lineModel{Fault: fenceOfPasser, Fencing: true, InLine: 2, Attempts: 3, TTL: 1}, fenceNotLarger},
	{"a token counts that no quorum stores", &lineModel{Fault: noRaise, Fencing: true, InLine: 1, Plain: 4, Stays: 1, Attempts: 3, TTL: 1}, fenceNotLarger},
	{"a raise counts at a late grant", &lineModel{Fault: lateGrantIsRaised, Fencing: true, Vanish: true, Attempts: 2, TTL: 1}, tokenOrder},
	{"a request to join is executed twice", &lineModel{Fault: joinsTwice, Fencing: true, Vanish: true, Apart: true, Plain: 3, Attempts: 2, TTL: 1}, tokenOrder},
	{"the token of a grant that ended counts", &lineModel{Fault: deadGrantCounts, Fencing: true, InLine: 1, Plain: 4, Horizon: 1, Wait: 1, Crashes: 1, Stays: 1, Attempts: 3, TTL: 1}, fenceNotLarger},
	{"a grant counts whose token is not known", &lineModel{Fault: unknownFenceCounts, Fencing: true, Stays: 1, Attempts: 2, TTL: 1}, fenceNotLarger},
	{"a flushed master grants without a mark", &lineModel{Fault: markIgnored, Fencing: true, InLine: 1, Wait: 1, Flushes: 1, Attempts: 3, TTL: 1}, twoHolders},
}

func TestEachRuleOfTheLineIsNeeded(t *testing.T) { requireBroken(t, lineControls) }
