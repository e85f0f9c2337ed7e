package model

import "testing"

// soundLines are lines with all rules. The package comment has the number of their states.
var soundLines = []struct {
	lineModel
	states int
}{
	{lineModel{Name: "two wait", Attempts: 2, TTL: 2, Stale: 1, Horizon: 3}, 343880},
	{lineModel{Name: "two wait and stay", Attempts: 2, TTL: 1, Horizon: 1, Stays: 1}, 1501305},
	{lineModel{Name: "one asks as without a line", Attempts: 2, Plain: 1, TTL: 2, Stale: 1, Horizon: 2}, 58481},
	{lineModel{Name: "three, no time passes", Attempts: 3, TTL: 1}, 557900},
	{lineModel{Name: "a holder and two in line", Attempts: 3, InLine: 2, TTL: 1, Horizon: 1}, 6806},
	{lineModel{Name: "a holder and two in line, who stay", Attempts: 3, InLine: 2, TTL: 1, Horizon: 1, Stays: 1}, 1339604},
	{lineModel{Name: "a holder, one in line and a newcomer", Attempts: 3, InLine: 1, TTL: 1, Horizon: 1}, 26128},
	{lineModel{Name: "a holder, one in line and one without a line", Attempts: 3, InLine: 1, Plain: 4, TTL: 2, Stale: 1, Horizon: 2}, 87988},
	{lineModel{Name: "leases are extended", Attempts: 2, InLine: 1, TTL: 2, Stale: 1, Horizon: 3, Extensions: 1}, 3857},
	{lineModel{Name: "masters' clocks step", Attempts: 3, InLine: 1, Plain: 4, TTL: 2, Stale: 1, AnyLease: 2, Horizon: 2}, 134643},
	{lineModel{Name: "a master restarts empty", Attempts: 2, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, 109126},
	{lineModel{Name: "a master restarts empty, with a newcomer", Attempts: 3, InLine: 1, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1}, 43800},
	{lineModel{Name: "a master restarts with old data", Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Stays: 1}, 6298835},
	{lineModel{Name: "three wait", Attempts: 3, InLine: 1, TTL: 2, Stale: 1, Horizon: 3}, 325606},
	{lineModel{Name: "three wait, none has begun", Attempts: 3, TTL: 1, Horizon: 1}, 1629902},
	{lineModel{Name: "leases are extended, with a newcomer", Attempts: 3, InLine: 1, TTL: 2, Stale: 1, Horizon: 3, Extensions: 1}, 773263},
	{lineModel{Name: "a master restarts empty, longer leases", Attempts: 2, TTL: 2, Stale: 1, Wait: 2, Horizon: 4, Crashes: 1}, 1779300},
	{lineModel{Name: "fenced, two wait and stay", Fencing: true, Attempts: 2, TTL: 1, Horizon: 1, Stays: 1}, 5213169},
	{lineModel{Name: "fenced, a holder, one in line and a newcomer, locks end at any time", Fencing: true, Vanish: true, Apart: true, Attempts: 3, InLine: 1, TTL: 1}, 3646873},
	{lineModel{Name: "two wait and stay, longer leases", Attempts: 2, TTL: 2, Stale: 1, Horizon: 1, Stays: 1}, 9515929},
	{lineModel{Name: "fenced, two wait", Fencing: true, Attempts: 2, TTL: 2, Stale: 1, Horizon: 3}, 671058},
	{lineModel{Name: "fenced, a holder and two in line", Fencing: true, Attempts: 3, InLine: 2, TTL: 1, Horizon: 1}, 57152},
	{lineModel{Name: "fenced, a holder, one in line and one without a line", Fencing: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Horizon: 1, Stays: 1}, 3845384},
	{lineModel{Name: "fenced, locks end at any time", Fencing: true, Vanish: true, Apart: true, Attempts: 2, TTL: 1}, 865255},
	{lineModel{Name: "fenced, a master restarts empty", Fencing: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1}, 426509},
	{lineModel{Name: "fenced, a master is flushed", Fencing: true, Attempts: 3, InLine: 1, Plain: 4, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1}, 626089},
}

func TestRulesOfTheLineHoldInEveryState(t *testing.T) {
	t.Parallel()
	for _, m := range soundLines {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			requireSound(t, m.Search, m.states, m.Attempts)
		})
	}
}

// lineControls are models without one rule each.
var lineControls = []struct {
	lineModel
	broken property
}{
	{lineModel{Name: "validity counts from the arrival of a push", Fault: countsFromArrival, InLine: 1, Plain: 4, Horizon: 2, Attempts: 3, TTL: 1}, twoHolders},
	{lineModel{Name: "a holder passes before it stops", Fault: passesWhileHeld, Attempts: 2, TTL: 1}, twoHolders},
	{lineModel{Name: "grants of a token that was given up count", Fault: countsGivenUp, Attempts: 2, TTL: 1}, twoHolders},
	{lineModel{Name: "a restarted master is joined without the wait", Fault: votesWithoutWait, Wait: 1, Crashes: 1, Attempts: 2, TTL: 1}, twoHolders},
	{lineModel{Name: "the wait is a tick too short", Wait: 0, Horizon: 1, Crashes: 1, Attempts: 2, TTL: 1}, twoHolders},
	{lineModel{Name: "a pass does not compare the value", Fault: passIgnoresValue, InLine: 2, Attempts: 3, TTL: 1}, twoHolders},
	{lineModel{Name: "channels of old data are heard", Fault: deadChannelsHear, InLine: 2, Wait: 1, Rollbacks: 1, Attempts: 3, TTL: 1}, twoHolders},
	{lineModel{Name: "what may be told is taken back", Fault: takesBack, InLine: 2, Attempts: 3, TTL: 1}, twoHolders},
	{lineModel{Name: "a pass publishes first, and its SET is refused", Fault: publishesFirst, InLine: 2, Attempts: 3, TTL: 1}, twoHolders},
	{lineModel{Name: "one is a quorum", Fault: quorumTooSmall, Attempts: 2, TTL: 1}, twoHolders},
	{lineModel{Name: "a push for another's token counts", Fault: foreignTokenCounts, Attempts: 2, TTL: 1}, twoHolders},
	{lineModel{Name: "clocks step, and a lease outlives the wait", AnyLease: 2, InLine: 1, Wait: 1, Horizon: 1, Crashes: 1, Attempts: 3, TTL: 1}, twoHolders},
	{lineModel{Name: "a pass does not raise the register", Fault: passRaisesNothing, Fencing: true, InLine: 2, Attempts: 3, TTL: 1}, fenceNotLarger},
	{lineModel{Name: "a pass grants one more than the passer's", Fault: fenceOfPasser, Fencing: true, InLine: 2, Attempts: 3, TTL: 1}, fenceNotLarger},
	{lineModel{Name: "a token counts that no quorum stores", Fault: noRaise, Fencing: true, InLine: 1, Plain: 4, Stays: 1, Attempts: 3, TTL: 1}, fenceNotLarger},
	{lineModel{Name: "a raise counts at a late grant", Fault: lateGrantIsRaised, Fencing: true, Vanish: true, Attempts: 2, TTL: 1}, tokenOrder},
	{lineModel{Name: "a request to join is executed twice", Fault: joinsTwice, Fencing: true, Vanish: true, Apart: true, Plain: 3, Attempts: 2, TTL: 1}, tokenOrder},
	{lineModel{Name: "the token of a grant that ended counts", Fault: deadGrantCounts, Fencing: true, InLine: 1, Plain: 4, Horizon: 1, Wait: 1, Crashes: 1, Stays: 1, Attempts: 3, TTL: 1}, fenceNotLarger},
	{lineModel{Name: "a grant counts whose token is not known", Fault: unknownFenceCounts, Fencing: true, Stays: 1, Attempts: 2, TTL: 1}, fenceNotLarger},
	{lineModel{Name: "a flushed master grants without a mark", Fault: markIgnored, Fencing: true, InLine: 1, Wait: 1, Flushes: 1, Attempts: 3, TTL: 1}, twoHolders},
}

func TestEachRuleOfTheLineIsNeeded(t *testing.T) {
	t.Parallel()
	for _, m := range lineControls {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			m.Only, m.Most = m.broken, most(t)
			requireBroken(t, m.Search)
		})
	}
}
