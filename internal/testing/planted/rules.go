package main

// rules are faults of the pure packages below pipeline, and of clocks.
var rules = []fault{
	{
		what: "the allowance for drift is dropped", file: "internal/redlock/drift.go",
		old: "time.Duration(float64(ttl)*drift) + 1 + Granularity", new: "0*ttl + Granularity",
		tests: "internal/redlock TestValidityIsRoundedAgainstTheHolder",
	},
	{
		what: "what has elapsed is no part of the lease", file: "internal/redlock/validity.go",
		old: "return ttl - elapsed - ", new: "return ttl - ",
		tests: "internal/redlock TestValidityIsRoundedAgainstTheHolder",
	},
	{
		what: "a restarted master waits without an allowance for clocks", file: "internal/redlock/restart.go",
		old: "maxTTL + DriftAllowance(maxTTL, drift) + time.Second", new: "maxTTL",
		tests: "internal/redlock TestRestartWaitOutlastsTheLongestLeaseByASlowClock",
	},
	{
		what: "a process hands a lease over for ever", file: "internal/redlock/handover_bound.go",
		old: "handOvers < most && age < longest", new: "handOvers < most || age < longest",
		tests: "engine TestBoundOfHandOversEndsWithARealRelease; engine/servertest TestOneOfAnotherProcessGetsItsTurnBesideManyOfOurs",
	},
	{
		what: "half of an even number is a quorum", file: "internal/quorum/quorum.go",
		old: "func Size(n int) int { return n/2 + 1 }", new: "func Size(n int) int { return (n + 1) / 2 }",
		tests: "internal/quorum TestTwoCallersCannotBothWinTheSameMasters",
	},
	{
		what: "a master too few is a quorum", file: "internal/quorum/quorum.go",
		old: "case granted >= q:", new: "case granted >= max(q-1, 1):",
		tests: "internal/quorum TestVerdictIsTheFirstThatNoFurtherVoteCanChange",
	},
	{
		what: "no answer counts as a refusal", file: "internal/quorum/quorum.go",
		old: "\tdefault:\n\t\tt.Unknown++", new: "\tdefault:\n\t\tt.Refused++",
		tests: "pipeline TestThreeOfFiveHungIsNoQuorumWithinTwiceTheTimeout",
	},
	{
		what: "a token has half of its random bytes", file: "internal/token/token.go",
		old: "rand.Read(raw[:]) //", new: "rand.Read(raw[:8]) //",
		tests: "internal/token TestTokenIsSixteenFreshBytesInBase64",
	},
	{
		what: "a register too few is read for a master that lost its own", file: "internal/fencing/admission.go",
		old: "return n - quorum + 1 }", new: "return n - quorum }",
		tests: "internal/fencing TestRegistersOfSoManyShareOneWithEveryQuorum",
	},
	{
		what: "registers are taken from the last master, not the largest", file: "internal/fencing/admission.go",
		old: "into[i] = max(into[i], v)", new: "into[i] = v",
		tests: "internal/fencing TestRegistersOfSoManyShareOneWithEveryQuorum",
	},
	{
		what: "a part of a set is taken for a set", file: "internal/fencing/stranger.go",
		old: "case len(set.Members) != len(shown):", new: "case len(set.Members) < len(shown):",
		tests: "internal/fencing TestMastersOfOtherSetsAreStrangers|TestQuorumsOfClientsWithoutFencingShareAMember",
	},
	{
		what: "a master is seeded before its wait is over", file: "internal/fencing/admission.go",
		old: "case now.Before(a.from):", new: "case now.Before(a.from) && a.runID == \"\":",
		tests: "internal/fencing TestMasterWithItsMarkVotesAtOnceAndAnyOtherIsOpened|TestWaitGoesOnForAsLongAsTheTicketIsTheSame",
	},
	{
		what: "an answer counts under any mark", file: "internal/fencing/admission.go",
		old: "return a.mark != \"\" && mark == a.mark }", new: "return a.mark != \"\" }",
		tests: "pipeline TestAnswerUnderAnotherMarkIsNoVoteAndSetsTheMasterAside",
	},
	{
		what: "a mark that went away is believed again", file: "internal/fencing/admission.go",
		old: "if last != mark {\n\t\ta.forget(last)", new: "if last == \"?\" {\n\t\ta.forget(last)",
		tests: "internal/fencing TestMarkThatWentAwayIsNotBelievedAgain",
	},
	{
		what: "a master is admitted although its ticket is another", file: "internal/fencing/admission.go",
		old: "return // the answer belongs to an earlier admission", new: "a.ticket = ticket",
		tests: "internal/fencing TestMasterThatIsSeededVotesIfItStillHadTheTicket",
	},
	{
		what: "a mark counts for any process of the member", file: "internal/fencing/mark.go",
		old: "m.Nonce != \"\" && m.RunID == runID && m.Member == member", new: "m.Nonce != \"\" && runID != \"\" && m.Member == member",
		tests: "internal/fencing TestMarkIsReadAsItWasWritten",
	},
	{
		what: "a fencing token counts without a quorum that stores it", file: "internal/fencing/fence.go",
		old: "(stored|raised)&granted) >= quorum", new: "granted) >= quorum",
		tests: "internal/fencing TestTokenIsTheLargestGrantAndCountsOnlyWhereAQuorumStoresIt",
	},
	{
		what: "the smallest grant is the fencing token", file: "internal/fencing/fence.go",
		old: "case g > token:", new: "case g < token || token == 0:",
		tests: "internal/fencing TestTokenIsTheLargestGrantAndCountsOnlyWhereAQuorumStoresIt",
	},
	{
		what: "all holders of a lease have one fence", file: "internal/fencing/fence.go",
		old: "return token<<handOverBits | uint64(handOvers)\n", new: "return token<<handOverBits | uint64(0*handOvers)\n",
		tests: "internal/fencing TestFencesOfALeaseLieBetweenThoseOfItsNeighbours",
	},
	{
		what: "a set is prepared again on masters that lost it", file: "internal/fencing/setup.go",
		old: "if !f.In(chosen) && ", new: "if f.Set.ID != \"\" && !f.In(chosen) && ",
		tests: "internal/fencing TestSetUpGoesOnWithWhatWasBegunAndRefusesTheRest",
	},
	{
		what: "the time of a suspend does not count", file: "internal/clock/clock.go",
		old: "return now.mono >= i.mono || now.boot > i.boot", new: "return now.mono >= i.mono",
		tests: "internal/clock TestDeadlineIsReachedByEitherClock",
	},
	{
		what: "an error has the arguments that a server quotes", file: "internal/resp/resp.go",
		old: "text, _, _ = strings.Cut(text, arguments)", new: "",
		tests: "internal/resp TestErrorsAreReadWithoutTheArgumentsOfAnUnknownCommand",
	},
	{
		what: "a reply may be of any size", file: "internal/resp/resp.go",
		old: "n < 0 || n > longest:", new: "n < 0:",
		tests: "internal/resp TestWhatIsNotAReplyOfOneValueIsAnError",
	},
}
