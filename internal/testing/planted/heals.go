package main

// heals are faults of the ways in which a kept lock regains masters.
var heals = []fault{
	{
		what: "an alarm asks to be granted", file: "internal/line/waiter.go",
		old: "w.may || w.overtaken", new: "true",
		tests: "internal/line TestOnlyTheWordOfTheHolderOrOfAQuorumAsksToBeGranted",
	},
	{
		what: "an alarm takes back what the leader of a split vote may", file: "internal/line/waiter.go",
		old: "w.may || w.overtaken", new: "w.overtaken",
		tests: "internal/line TestOneOfThoseWhoSplitTheVotesAsksAgainAndTheOthersYieldToIt",
	},
	{
		what: "the first in line is slower than a process that comes back at once", file: "internal/line/waiter.go",
		old: "if w.overtaken || slices.Contains(w.Values, readers) {\n\t\treturn 0, 0", new: "if slices.Contains(w.Values, readers) {\n\t\treturn 0, 0",
		tests: "internal/line TestFirstInLineWatchesTheName",
	},
	{
		what: "who won beside others who were refused does not pass the lock on", file: "engine/take.go",
		old: "n.lined || c.others.refused &&", new: "n.lined || false &&",
		tests: "engine TestWhoWonBesideOthersPassesTheLockOn",
	},
	{
		what: "the end of a master's wait is seen at the next tick", file: "pipeline/pipeline.go",
		old: "next = min(next, left)", new: "_ = left",
		tests: "pipeline TestChangedReportsAMasterSetAsideAndItsReturn",
	},
	{
		what: "all processes admit a master at the same moment", file: "pipeline/pipeline.go",
		old: "; left > 0 && p.set == nil {", new: "; left > 0 {",
		tests: "pipeline TestProcessesDoNotAdmitAMasterAtTheSameMoment",
	},
	{
		what: "a dial to a stopped master is given up and slept over", file: "pipeline/probe.go",
		old: "m.dialAndAdmit(m.p.ctx, 2*m.pause)", new: "m.dialAndAdmit(m.p.ctx, 0)",
		tests: "pipeline TestWhatAStoppedMasterCarriesOutIsUndoneAsSoonAsItGoesOn",
	},
	{
		what: "a lock is healed although other processes know its token", file: "engine/heal.go",
		old: "send := !l.term.Ended && !l.isKnown()", new: "send := !l.term.Ended",
		tests: "engine TestALockWhoseTokenOthersKnowIsNotHealed",
	},
	{
		what: "a refused heal is not tried again", file: "engine/heal.go",
		old: "mostHealRetries = 4", new: "mostHealRetries = 0",
		tests: "engine TestARefusedHealIsTriedAgainSoon",
	},
	{
		what: "a heal that makes a quorum is followed by no renewal", file: "engine/heal.go",
		old: "(l.renewal.fault != nil || l.isKnown())", new: "l.isKnown()",
		tests: "engine TestAHealThatMakesAQuorumIsFollowedByARenewal",
	},
	{
		what: "nobody asks whether a lock whose token became known during its heal is still held", file: "engine/heal.go",
		old: "(l.renewal.fault != nil || l.isKnown())", new: "l.renewal.fault != nil",
		tests: "engine TestAHealThatFollowsTheReleaseOfARevealedLockIsUndone",
	},
	{
		what: "a master that waits refuses extends", file: "pipeline/send.go",
		old: ", waits: cause}", new: "}",
		tests: "engine TestALockOfAMajorityThatRestartedIsLostWithItsValidity",
	},
	{
		what: "locks are not renewed soon after a master votes again", file: "engine/heal.go",
		old: "if votes == k.votes {", new: "if votes >= k.votes {",
		tests: "engine TestKeptLocksOutlastTheLossOfEveryMaster",
	},
	{
		what: "a lock is healed at once", file: "engine/heal.go",
		old: "healFrom = 4", new: "healFrom = 1 << 40",
		tests: "engine TestAYoungLockIsNotHealed",
	},
	{
		what: "a heal is sent behind the release", file: "pipeline/form.go",
		old: " || c.req.Heal && c.to.Over()", new: "",
		tests: "pipeline TestAHealIsDroppedOnceItsLeaseIsOver",
	},
	{
		what: "a heal goes to all masters", file: "pipeline/send.go",
		old: "case q.Heal && q.Among&(1<<m.index) == 0:", new: "case q.Heal && q.Among == 0:",
		tests: "pipeline TestAHealGoesToTheMastersThatLackTheLock",
	},
	{
		what: "a heal goes to a master that waits", file: "pipeline/send.go",
		old: "cause != nil && (q.Op.Takes() ||", new: "cause != nil && (q.IsNew() ||",
		tests: "pipeline TestAHealIsNotSentToAMasterThatWaits",
	},
	{
		what: "a heal has a token of its own", file: "engine/heal.go",
		old: "Name: l.name, Token: l.token, TTL", new: "Name: l.name, Token: l.token + \"x\", TTL",
		tests: "engine TestKeptLocksOutlastTheLossOfEveryMaster",
	},
	{
		what: "a heal moves validity", file: "engine/heal.go",
		old: "if x.busy = false; c.gone", new: "x.busy = false\n\t\tl.renewal.extended(l.renewal.ttl, now)\n\t\tif c.gone",
		tests: "engine TestAHealMovesNoValidity",
	},
	{
		what: "a waiter may take what another holds", file: "internal/line/waiter.go",
		old: "OnesCount64(w.Free|live) >= w", new: "OnesCount64(w.Free|live) >= 0*w",
		tests: "internal/line TestWaiterAsksToBeGrantedOnlyWhatItCouldHold",
	},
	{
		what: "a waiter never asks to be queued only", file: "internal/line/waiter.go",
		old: "!r.Told && !w.may && !w.mayTake(live)", new: "!r.Told && !w.may && w.mayTake(live) && !w.mayTake(live)",
		tests: "internal/line TestWaiterJoinsAndThenStays",
	},
	{
		what: "a waiter keeps what it was granted beside a lock", file: "internal/line/waiter.go",
		old: "leads := leader == w.Own", new: "leads := leader == w.Own || votes >= w.Terms.Quorum",
		tests: "internal/line TestOneOfThoseWhoSplitTheVotesAsksAgainAndTheOthersYieldToIt",
	},
	{
		what: "what was granted beside a lock is passed to the next in line", file: "engine/place.go",
		old: "Nobody: do.Nobody", new: "Nobody: false",
		tests: "engine TestVotesThatAreSplitAreSettled",
	},
	{
		what: "a waiter that finds a quorum free does not ask at once", file: "internal/line/waiter_answer.go",
		old: "c.Again, c.From, c.To = true, 0, 0", new: "_ = c",
		tests: "internal/line TestWaiterWhoMayTakeTheRestDoesNotYield",
	},
	{
		what: "a master grants whom it is only to queue", file: "scripts/wait.lua",
		old: "local free = not value and ARGV[8] ~= '-'", new: "local free = not value",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
	{
		what: "a master offers to others what was given back", file: "scripts/pass.lua",
		old: "local now = ARGV[2] ~= 'n' and", new: "local now =",
		tests: "internal/redisfake TestFakeKeepsALineAsAServerDoes",
	},
}
