package main

// heals are faults of the ways in which a kept lock regains masters.
var heals = []fault{
	{
		what: "a lock is healed although other processes know its token", file: "engine/heal.go",
		old: "send := !l.ended && !l.isKnown()", new: "send := !l.ended",
		tests: "engine TestALockWhoseTokenOthersKnowIsNotHealed",
	},
	{
		what: "a refused heal is not tried again", file: "engine/heal.go",
		old: "mostHealRetries = 4", new: "mostHealRetries = 0",
		tests: "engine TestARefusedHealIsTriedAgainSoon",
	},
	{
		what: "a heal that makes a quorum is followed by no renewal", file: "engine/heal.go",
		old: "(l.fault != nil || l.isKnown())", new: "l.isKnown()",
		tests: "engine TestAHealThatMakesAQuorumIsFollowedByARenewal",
	},
	{
		what: "nobody asks whether a lock whose token became known during its heal is still held", file: "engine/heal.go",
		old: "(l.fault != nil || l.isKnown())", new: "l.fault != nil",
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
}
