package main

// engines are faults of engine and of the packages built on engine.
var engines = []fault{
	{
		what: "an attempt that failed is not released", file: "engine/contend.go",
		old: "\treq.Alone = out.Denied != nil\n\te.masters.undo(*req)", new: "\treq.Alone = out.Denied != nil",
		tests: "engine TestQuorumThatComesTooLateIsExpiredAndUndone",
	},
	{
		what: "the attempts of a call have one token", file: "engine/contend.go",
		old: "Token: kind.newToken(c.e.cfg.Holder), TTL", new: "Token: c.turn.called.Sub(clock.Instant{}).String() + kind.newToken(c.e.cfg.Holder)[24:], TTL",
		tests: "engine TestEachAttemptHasATokenOfItsOwn",
	},
	{
		what: "validity of an acquire counts from its answer", file: "engine/contend.go",
		old: "start = sentAt(*out, began)", new: "start = clock.Now()",
		tests: "engine TestValidityCountsFromWhenTheRequestWasSent",
	},
	{
		what: "validity of a lock whose token was raised counts from the raise", file: "engine/masters.go",
		old: "outs[i].Origin, outs[i].Sent, outs[i].Fence = first.Origin, first.Sent, first.Fence", new: "outs[i].Origin, outs[i].Fence = first.Origin, first.Fence",
		tests: "engine TestValidityOfALockThatWasRaisedCountsFromItsAcquire",
	},
	{
		what: "a fencing token that a quorum does not store is not raised", file: "engine/masters.go",
		old: "out.Verdict == quorum.Won && !fencing.Counts(", new: "out.Verdict == quorum.Won && out.Fence == 0 && !fencing.Counts(",
		tests: "engine TestLateGrantDoesNotCountForTheRaise",
	},
	{
		what: "fencing tokens of many names are not raised", file: "engine/masters.go",
		old: "if errs[i] == nil && m.isLow(&req, &outs[i]) {", new: "if errs[i] == nil && m.isLow(&req, &outs[i]) && outs[i].Fence == 0 {",
		tests: "engine TestManyFencingTokensAreRaisedTogether",
	},
	{
		what: "a name of many that was not acquired stays contended", file: "engine/many.go",
		old: "c.failed(c.quit(err))", new: "c.failed(err)",
		tests: "engine TestOneOfManyThatGetsNoLockLetsTheNextContend",
	},
	{
		what: "a set that waits keeps the names that are free", file: "engine/set_contend.go",
		old: "\tif next.again {\n\t\ts.leave()\n\t}\n", new: "",
		tests: "engine TestSetThatWaitsHoldsNothing",
	},
	{
		what: "a reader passes the name on in line", file: "engine/kind.go",
		old: "token.ForReader, secret: true,", new: "token.ForReader, secret: true, passedOn: true,",
		tests: "engine TestReadersPassNothingOn",
	},
	{
		what: "a reader's lease that stands apart is handed over as the present one", file: "engine/internal/turn/turn.go",
		old: "if t.Ended || q.Lease != l {", new: "if t.Ended {",
		tests: "engine TestReaderOfALeaseThatStandsApartLeavesThePresentOneToTheOthers",
	},
	{
		what: "a writer's lease is handed to a reader", file: "engine/kind.go",
		old: "turn.Kind{Shared: true}", new: "turn.Kind{Shared: true, TakesOver: true}",
		tests: "engine TestReadersThatWaitAreLetInTogether",
	},
	{
		what: "a reader's lease is handed to a writer", file: "engine/kind.go",
		old: "turn.Kind{Shared: true}", new: "turn.Kind{Shared: true, HandsOver: true}",
		tests: "engine TestReadersThatWaitAreLetInTogether",
	},
	{
		what: "a reader releases the lease of all", file: "engine/handover.go",
		old: "len(l.holders) > 0 && !l.term.Ended", new: "len(l.holders) < 0",
		tests: "engine TestReadersOfAProcessShareALease",
	},
	{
		what: "a reader joins although a writer waits", file: "engine/internal/turn/turn.go",
		old: "q.Lease.Kind().Shared && q.first == nil\n", new: "q.Lease.Kind().Shared\n",
		tests: "engine TestReaderJoinsAYoungLeaseThatIsLongEnoughElseItHasAnother",
	},
	{
		what: "a reader joins a lease that is too short", file: "engine/internal/turn/turn.go",
		old: "t.isYoung(longest, now) && q.Lease.Lasts(ttl, now)", new: "t.isYoung(longest, now)",
		tests: "engine TestReaderJoinsAYoungLeaseThatIsLongEnoughElseItHasAnother",
	},
	{
		what: "a writer in line lets new readers in", file: "engine/place.go",
		old: "\t\t\tc.keepReadersOut()\n\t\t}\n\t\tc.state", new: "\t\t}\n\t\tc.state",
		tests: "engine TestIntentEndsWithTheWait",
	},
	{
		what: "a writer that met readers lets new ones in until it is refused", file: "engine/contend.go",
		old: "true, true\n\t\tc.keepReadersOut()", new: "true, true",
		tests: "engine TestWriterThatMetReadersKeepsThemOutAtOnceTheNextTime",
	},
	{
		what: "a writer that met readers asks for the lock before it stands in line", file: "engine/contend.go",
		old: "c.intents.polls, c.others.crowded = false, true, true", new: "c.intents.polls = false, true",
		tests: "engine TestWriterThatMetReadersStandsInLineAtOnceTheNextTime",
	},
	{
		what: "a writer that comes back does not learn who has the name", file: "engine/intents.go",
		old: "|| early && !unknown", new: "|| early || unknown && c.e == nil",
		tests: "engine TestWriterThatComesBackLeavesReadersTheirTime",
	},
	{
		what: "a writer that comes back leaves readers no time", file: "engine/intents.go",
		old: "owed.since.Add(owed.lasts).Left(c.turn.began)", new: "owed.since.Left(c.turn.began)",
		tests: "engine TestWriterThatComesBackLeavesReadersTheirTime",
	},
	{
		what: "a writer that comes back leaves readers all its time", file: "engine/intents.go",
		old: "min(now.Sub(i.first)*3/2, intendAfter)", new: "now.Sub(i.first) * 3 / 2",
		tests: "engine TestWriterThatComesBackLeavesReadersTheirTime",
	},
	{
		what: "a writer that lost its lock leaves readers time from when it had it first", file: "engine/intents.go",
		old: "return courtesy{since: now, lasts:", new: "return courtesy{since: before.since, lasts:",
		tests: "engine TestWriterThatLostItsLockLeavesReadersNoMoreTime",
	},
	{
		what: "readers have their time after readers", file: "engine/handover.go",
		old: "if n.Lease == l && !kinds[l.kind].Shared {", new: "if n.Lease == l {",
		tests: "engine TestWriterThatComesBackLeavesReadersTheirTime",
	},
	{
		what: "a writer leaves readers more time than it has", file: "engine/intents.go",
		old: "time.Until(end) < d", new: "time.Until(end) < 0",
		tests: "engine TestWriterWithoutThatMuchTimeAsksAtOnce",
	},
	{
		what: "a single attempt forgets readers", file: "engine/take.go",
		old: "c.mayComeBack() && l != c.turn.inherited", new: "kinds[c.kind].comesBack && l != c.turn.inherited",
		tests: "engine TestOneAttemptIsNoReasonToForgetReaders",
	},
	{
		what: "a reader asks again at once where some masters let it in", file: "engine/retry.go",
		old: "next.await || kinds[c.kind].Shared && next.why == ErrTaken", new: "next.await",
		tests: "engine TestReaderThatSomeMastersLetInWaitsForTheWriter",
	},
	{
		what: "a writer that stands in no line lets new readers in", file: "engine/intents.go",
		old: "|| early && !unknown", new: "|| early || !unknown",
		tests: "engine TestWriterThatWaitsKeepsNewReadersOut",
	},
	{
		what: "a reader that an intent keeps out asks whenever another one leaves", file: "engine/intents.go",
		old: "name = pipeline.IntentPrefix + name", new: "name += \"\"",
		tests: "engine TestReaderBehindAWriterAsksAgainWhenTheIntentEnds",
	},
	{
		what: "an intent stays when its writer has the lock", file: "engine/intents.go",
		old: "c.e.masters.at(c.name).Post(c.intent(0))", new: "",
		tests: "engine TestIntentEndsWithTheWait",
	},
	{
		what: "a reader's loss is its own", file: "engine/lease.go",
		old: "range l.holders {\n\t\tif h.end == nil {", new: "range l.holders[:min(1, len(l.holders))] {\n\t\tif h.end == nil {",
		tests: "engine TestLossOfALeaseIsThatOfAllItsReaders",
	},
	{
		what: "a reader raises a register", file: "engine/masters.go",
		old: "m.fencing && !req.Shared && ", new: "m.fencing && ",
		tests: "engine/servertest TestManyReadOrOneWritesOnRealMasters",
	},
	{
		what: "a set is handed a lock", file: "engine/kind.go",
		old: "turn.Kind{HandsOver: true}", new: "turn.Kind{TakesOver: true, HandsOver: true}",
		tests: "engine TestSetHasItsTurnInOrder",
	},
	{
		what: "the names of a set share one attempt by chance", file: "engine/set_contend.go",
		old: "a.reqs[i].Joint, a.reqs[i].OneOf = number, oneOf", new: "a.reqs[i].Joint, a.reqs[i].OneOf = 0*number, oneOf",
		tests: "engine TestSetsThatCrossNeitherWaitForEachOtherNorShareAName; engine/servertest TestSetIsAcquiredWholeOrNotAtAll",
	},
	{
		what: "a permit that is released at the masters wakes nobody here", file: "engine/kind.go",
		old: "released: slotReleased, ", new: "",
		tests: "engine TestPermitReleasedAtTheMastersWakesWhoWaitsHere",
	},
	{
		what: "a permit is won by votes on several slots", file: "engine/set_contend.go",
		old: "\t\tm.sample(&a.outs[a.best], c.turn.contended, sentAt(a.outs[a.best], a.began))\n", new: "\t\tm.sample(&a.outs[a.best], c.turn.contended, sentAt(a.outs[a.best], a.began))\n\t\tif granted := uint8(0); oneOf {\n\t\t\tfor i := range a.outs {\n\t\t\t\tgranted += a.outs[i].Tally.Granted\n\t\t\t}\n\t\t\tif int(granted) >= quorum.Size(m.number) {\n\t\t\t\ta.outs[a.best].Verdict = quorum.Won\n\t\t\t}\n\t\t}\n",
		tests: "engine/servertest TestVotesOnSeveralSlotsAreNoPermit|TestAtMostTheLimitHoldPermits",
	},
	{
		what: "a permit that is released is handed to nobody", file: "engine/kind.go",
		old: "queue: permitQueue, ", new: "",
		tests: "engine TestReleasedPermitIsHandedOverInOrder|TestWaitingContenderIsHandedAPermit",
	},
	{
		what: "a permit with little validity left is neither handed over nor released", file: "engine/internal/turn/turn.go",
		old: "(!may || slot >= w.Limit || !l.Lasts(w.TTL, now)):", new: "!may:",
		tests: "engine/internal/turn TestAllHistoriesOfPermits",
	},
	{
		what: "Close does not wait for who asks for a permit", file: "engine/permit_contend.go",
		old: "\tt.awaited.Add(1)\n", new: "",
		tests: "engine TestPermitsThatMeetCloseLeaveNoKey",
	},
	{
		what: "a slot is given out twice in a process", file: "engine/take.go",
		old: "if lock.lease.state.Lease != nil {", new: "if false {",
		tests: "engine TestSlotThatWasReleasedByForceIsNotGivenOutTwiceHere",
	},
	{
		what: "the loss of one name is none of its set", file: "engine/set.go",
		old: "return s.first(func(i int) error { return s.locks[i].Err() })", new: "return s.locks[0].Err()",
		tests: "engine TestLossOfOneNameIsTheLossOfTheSet",
	},
	{
		what: "a raise counts answers of late grants, too", file: "engine/masters.go",
		old: "req.Op, req.Joint, req.OneOf, req.Among = pipeline.Extend, 0, false, outs[i].Granted", new: "req.Op, req.Joint, req.OneOf = pipeline.Extend, 0, false",
		tests: "engine TestLateGrantDoesNotCountForTheRaise",
	},
	{
		what: "a lock that ran out on its way is returned", file: "engine/take.go",
		old: "case l.term.Ended || l.renewal.until.Reached(now):", new: "case l.term.Ended:",
		tests: "engine TestAcquireReturnsNoLockThatRanOutOnItsWay",
	},
	{
		what: "a quorum that came too late is a lock", file: "engine/attempt.go",
		old: "redlock.Validity(a.ttl, elapsed, a.drift) > 0", new: "redlock.Validity(a.ttl, 0, a.drift) > 0",
		tests: "engine TestNextStepOfAnAttempt|TestQuorumThatComesTooLateIsExpiredAndUndone",
	},
	{
		what: "an attempt without a quorum is the last one", file: "engine/attempt.go",
		old: "again: (a.most == 0 || a.made < a.most) &&", new: "again: why != ErrNoQuorum && (a.most == 0 || a.made < a.most) &&",
		tests: "engine TestNextStepOfAnAttempt",
	},
	{
		what: "a late extend revives an expired lock", file: "engine/lease.go",
		old: "\tl.expireLocked(now)\n\tended, denied", new: "\tended, denied",
		tests: "engine TestWhatIsConfirmedAfterTheEndOfValidityIsUndone",
	},
	{
		what: "a late extend is not undone", file: "engine/lease.go",
		old: "undo := l.expired && a.err == nil && !l.isKnown() ||", new: "undo :=",
		tests: "engine TestWhatIsConfirmedAfterTheEndOfValidityIsUndone|TestExtendThatIsAnsweredTooLateIsUndoneUnlessTheTokenWasRevealed",
	},
	{
		what: "validity of an extend counts from its answer", file: "engine/lease.go",
		old: "l.extended(a.x.ttl, sentAt(a.out, a.x.began))", new: "l.extended(a.x.ttl, now)",
		tests: "engine TestValidityCountsFromWhenTheRequestWasSent",
	},
	{
		what: "validity of a renewal counts from its answer", file: "engine/lease.go",
		old: "l.renewal.renewed(sentAt(a.out, l.renewal.requestedAt), now)", new: "l.renewal.renewed(now, now)",
		tests: "engine TestValidityCountsFromWhenTheRequestWasSent",
	},
	{
		what: "a lock stays valid when a majority says that it is gone", file: "engine/lease.go",
		old: "\tcase denied:\n\t\tl.loseLocked(err)\n", new: "",
		tests: "engine TestDeletedKeyIsALossAtTheNextRenewalAndIsNeverSetAgain",
	},
	{
		what: "a release is kept for the last ttl, not the longest", file: "engine/lease.go",
		old: "Token: l.token, TTL: l.longest,", new: "Token: l.token, TTL: l.renewal.ttl,",
		tests: "engine TestHolderRenewsWithItsOwnTTLAndAReleaseIsKeptForTheLongest",
	},
	{
		what: "a user's function runs on the keeper", file: "engine/lease.go",
		old: "go w.fn() // user code", new: "w.fn() // user code",
		tests: "engine TestWarningThatBlocksHoldsUpNoOtherLock",
	},
	{
		what: "an extend may shorten validity", file: "engine/renewal.go",
		old: "r.until.Before(until) {", new: "!until.IsZero() {",
		tests: "engine TestExtendNeverShortensALease|TestRandomRenewalsAreNeverValidPastWhatTheMastersConfirmed",
	},
	{
		what: "a renewal is credited with the ttl of a later extend", file: "engine/renewal.go",
		old: "r.extended(r.requested, start)", new: "r.extended(r.ttl, start)",
		tests: "engine TestRenewalUnderWayIsNotCreditedWithALongerExtendThatFails|TestRandomRenewalsAreNeverValidPastWhatTheMastersConfirmed",
	},
	{
		what: "a renewal that failed is not tried again", file: "engine/renewal.go",
		old: "retry := redlock.RenewalRetry(r.ttl)", new: "retry := r.ttl",
		tests: "engine TestFailedRenewalIsRepeatedUntilTheEdge",
	},
	{
		what: "a lock that ran out is valid until its timer runs", file: "engine/lock.go",
		old: "\tif l.end == nil {\n\t\tl.lease.expireLocked(now)\n\t}\n\treturn now", new: "\treturn now",
		tests: "engine TestLossIsFoundByWhoeverAsksFirst",
	},
	{
		what: "a second release is sent to the masters", file: "engine/release.go",
		old: "\tif l.released {\n\t\treturn ErrNotHeld\n\t}\n", new: "",
		tests: "engine TestHandleOfBeforeReachesNobody",
	},
	{
		what: "a release is not sent after the end of its ctx", file: "engine/release.go",
		old: "\tif !r.mustDelete {", new: "\tif !r.mustDelete || ctx.Err() != nil {",
		tests: "engine/servertest TestReleaseIsSentThoughItsContextHasEnded",
	},
	{
		what: "a lease whose token was revealed is handed over", file: "engine/internal/turn/turn.go",
		old: "&& !t.Revealed && ", new: "&& ",
		tests: "engine TestTokenIsNotRevealedOnceTheLeaseIsAnothers|TestHelpersBelatedReleaseTouchesNoLaterHolder",
	},
	{
		what: "a lock that ran out while it was handed over is taken", file: "engine/handover.go",
		old: "lost := l.end != nil", new: "lost := false",
		tests: "engine TestLockThatRunsOutWhileItIsHandedOverIsAskedForAgain",
	},
	{
		what: "a lease with little left is handed over as it is", file: "engine/internal/turn/turn.go",
		old: "if !l.Lasts(w.TTL, now) {\n", new: "if false {\n",
		tests: "engine TestHandOverWithLittleLeftIsExtendedFirst",
	},
	{
		what: "a lease renews with the ttl of the holder before", file: "engine/handover.go",
		old: "l.renewal.ttl = w.TTL ", new: "_ = w.TTL ",
		tests: "engine TestHolderRenewsWithItsOwnTTLAndAReleaseIsKeptForTheLongest",
	},
	{
		what: "an inherited lease that cannot be extended is not given up", file: "engine/contend.go",
		old: "\tl.giveUp()\n\treturn nil\n}", new: "\treturn nil\n}",
		tests: "engine TestInheritedLeaseThatCannotBeExtendedIsContendedFor|TestWaiterThatLeavesWhileItExtendsAnInheritedLeaseLeavesNothing",
	},
	{
		what: "an adopted lock is valid from the answer on", file: "engine/adopt.go",
		old: "sentAt(out, now), clock.Now())", new: "clock.Now(), clock.Now())",
		tests: "engine TestValidityCountsFromWhenTheRequestWasSent",
	},
	{
		what: "an adopted lock is the lock of its name in this process", file: "engine/adopt.go",
		old: "append(n.Apart, l.lease)\n", new: "n.Apart\n\tn.Lease = l.lease\n",
		tests: "engine TestAdoptedLockIsNeverHandedOver|TestAdoptStandsBesideWhatTheProcessDoesWithTheName",
	},
	{
		what: "two of a process contend for a name", file: "engine/internal/turn/turn.go",
		old: "return !q.has() && !q.Asks && q.first == nil }", new: "return !q.has() && q.first == nil }",
		tests: "engine/internal/turn TestAllHistoriesOfAQueue",
	},
	{
		what: "what is given to a waiter that leaves is kept", file: "engine/queue.go",
		old: "_ = got.lock.Release(ctx) // to the next", new: "_ = ctx // to the next",
		tests: "engine TestWhatIsGrantedAtTheMomentOfLeavingGoesToTheNext|TestLockGrantedAndLostBeforeItsWaiterCouldLeave",
	},
	{
		what: "the keeper waits for the end of a caller's context", file: "engine/name_table.go",
		old: "go cancelAll(s.unlockEnded())", new: "cancelAll(s.unlockEnded())",
		tests: "engine TestNoCallWaitsForAMutexThatItsOwnCallerHas",
	},
	{
		what: "a user's observer runs where a call waits", file: "engine/internal/events/queue.go",
		old: "*into = append(*into, added)\n\tq.changed.Signal()", new: "_ = into\n\tadded.deliver()",
		tests: "engine/internal/events TestEventsAreDeliveredInOrderAndBlockNobody",
	},
	{
		what: "the keeper sleeps through a suspend", file: "engine/keeper.go",
		old: "return min(max(0, k.leases[0].due.Left(now)), longest)", new: "_ = longest\n\treturn max(0, k.leases[0].due.Left(now))",
		tests: "engine TestKeeperSleepsForASecondAtMostWhileItHasLeases",
	},
	{
		what: "a leader leads to the end of validity", file: "engine/lead.go",
		old: "l.WarnBefore(early, func()", new: "l.WarnBefore(1, func()",
		tests: "engine TestLeadersContextEndsAThirdOfTheLeaseBeforeValidityAndTheLockIsKeptUntilItReturns",
	},
	{
		what: "a leader's lock is handed over", file: "engine/kind.go",
		old: "turn.Kind{TakesOver: true}},\n\tadopted", new: "turn.Kind{TakesOver: true, HandsOver: true}},\n\tadopted",
		tests: "engine TestLockOfALeaderIsReleasedAtTheMastersAndNotHandedOver",
	},
	{
		what: "a name may be one of the engine's own keys", file: "engine/config.go",
		old: "case strings.HasPrefix(key, pipeline.ReservedPrefix):", new: "case key == pipeline.ReservedPrefix:",
		tests: "engine TestNamesAreAnyBytesButBoundedAndNotReserved|TestAPrefixNeverLeadsIntoTheReservedNames",
	},
	{
		what: "a lease may be longer than masters wait", file: "engine/config.go",
		old: "case ttl > c.MaxTTL:", new: "case ttl > limits.TTL:",
		tests: "engine TestLeaseIsWholeMillisecondsWithValidityLeft",
	},
	{
		what: "a lock of one master is shown as held", file: "engine/admin/inspect.go",
		old: "len(left) >= majority {\n\t\t\tslices", new: "len(left) >= 1 {\n\t\t\tleft = append(left, make([]time.Duration, majority)...)\n\t\t\tslices",
		tests: "engine/admin TestAMajorityOfAllMastersHoldsALock",
	},
	{
		what: "masters are called new that are not", file: "engine/admin/setup.go",
		old: "s.New, s.Recover, s.Above = opts.MastersAreNew,", new: "s.New, s.Recover, s.Above = true,",
		tests: "engine/servertest TestMastersInUseAreSetUpWhileTheyServe",
	},
	{
		what: "a lock without validity by Redsync's drift is kept", file: "engine/redsync/mutex.go",
		old: "case err == nil && !m.over(lock):", new: "case err == nil && (m.name != \"\" || !m.over(lock)):",
		tests: "engine/redsync TestLockThatLeavesNoValidityIsGivenBack",
	},
	{
		what: "a mutex hands over a lock whose value was asked for", file: "engine/redsync/mutex.go",
		old: "value := lock.Reveal()\n", new: "value := lock.Name()\n",
		tests: "engine/redsync TestLockIsHandedOverUnlessItsValueWasAskedFor",
	},
	{
		what: "a test without a quorum has one", file: "engine/enginetest/enginetest.go",
		old: "range quorum.Size(len(e.masters)) {", new: "range quorum.Size(len(e.masters)) - 1 {",
		tests: "engine/enginetest TestThereAreAsManyMastersAsAreNamed",
	},
	{
		what: "who leaves the line leaves its token there", file: "engine/place.go",
		old: "!taken && p.origin != pipeline.OriginUnknown {", new: "!taken && p.origin == pipeline.OriginForeign {",
		tests: "engine TestWhoLeavesTheLineLeavesNothingBehindAndTheNextIsServed|TestVotesThatAreSplitAreSettled",
	},
	{
		what: "a lock that a minority passed on is held", file: "internal/line/waiter.go",
		old: "valid(w.Seats, won.Live, w.Terms.Quorum)", new: "valid(w.Seats, won.Live, w.Terms.Quorum-1)",
		tests: "internal/line TestWaiterTakesWhatAQuorumOfLiveGrantsGives",
	},
	{
		what: "a grant that waits for the drift allowance counts without it", file: "engine/place.go",
		old: "a.Lease = redlock.Validity(a.Lease, 0, e.cfg.Drift)", new: "a.Lease += 0 * redlock.Validity(a.Lease, 0, e.cfg.Drift)",
		tests: "engine TestLockThatIsPassedOnCountsFromTheRequestThatItAnswers",
	},
	{
		what: "a fencing token that too few store is not raised in line", file: "engine/place.go",
		old: "; e.masters.isLow(&req, &out) {", new: "; out.Granted == 0 {",
		tests: "engine TestLockWhoseFencingTokenTooFewStoreIsRaised",
	},
	{
		what: "a pass does not raise the fencing token", file: "engine/lease.go",
		old: "req.Fence = l.fencing + 1", new: "req.Fence = 0",
		tests: "engine TestAPassProposesALargerFencingToken",
	},
	{
		what: "all who come during a turn are served while others stand in line", file: "engine/internal/turn/turn.go",
		old: "if t.Newcomers && ", new: "if false && ",
		tests: "engine TestOneWhoCameDuringATurnIsServedAndMoreOnlyWhileItIsShortIfOthersStandInLine",
	},
	{
		what: "a place that a master lost is kept", file: "internal/line/waiter.go",
		old: "lost := w.missing ||", new: "lost := w.missing && w.Own == nobody ||",
		tests: "internal/line TestTokenThatAMasterLostIsGivenUp",
	},
	{
		what: "the one that yields does not say to whom", file: "internal/line/waiter.go",
		old: "c.Leader = leader", new: "c.Leader = nobody",
		tests: "internal/line TestVotesThatAreSplitAreSettledAfterASecondRequest",
	},
	{
		what: "a place starts its wait anew with each token", file: "engine/place.go",
		old: "if w = p.waiter; ", new: "if w, w.Terms.Began = p.waiter, clock.Now(); ",
		tests: "engine TestPlaceThatAMasterLostIsGivenUpForAnother",
	},
	{
		what: "the first in line does not watch the name", file: "internal/line/waiter_answer.go",
		old: "c.Watch = a.Rank == 0 &&", new: "c.Watch = a.Rank < 0 &&",
		tests: "internal/line TestFirstInLineWatchesTheName",
	},
	{
		what: "who is told of a free name does not say so", file: "internal/line/waiter.go",
		old: "w.opened = *new(T)\n\t} else", new: "w.opened, r.Told = *new(T), false\n\t} else",
		tests: "internal/line TestNameThatIsLeftOpenIsTakenOutOfTurnOnce",
	},
	{
		what: "a lock that was passed on is not extended", file: "engine/renewal.go",
		old: "if (r.kept || r.short) && r.requestedAt.IsZero() {", new: "if r.kept && r.requestedAt.IsZero() {",
		tests: "engine TestLockThatWasPassedOnLivesForItsTTL",
	},
	{
		what: "a name is passed on for ever, once it was", file: "engine/pass.go",
		old: "case out.PassedOn == 0:\n\t\tn.notLined()\n", new: "",
		tests: "engine TestNameThatNobodyWaitsForIsReleasedAsBefore",
	},
	{
		what: "a lock is never left open to strangers", file: "engine/pass.go",
		old: "return &pipeline.Line{Open: true, Word: word}", new: "_ = word",
		tests: "engine TestHolderLeavesTheNameOpenNowAndThen",
	},
	{
		what: "a sighting of a stranger is not passed on", file: "engine/place.go",
		old: "p.strange = clock.Later(p.strange, sightingAt(a.Word, now))", new: "_ = sightingAt",
		tests: "engine TestSightingOfAStrangerTravelsWithTheLock",
	},
	{
		what: "a set is held though too few store a fence of it", file: "engine/set_contend.go",
		old: "return out.Verdict != quorum.Won }))", new: "return out.Verdict == quorum.NoQuorum && c.e == nil }))",
		tests: "engine TestSetIsNotHeldIfTooFewStoreAFenceOfIt",
	},
	{
		what: "a set is valid until its last lock ends", file: "engine/set.go",
		old: "return slices.MinFunc(cmp.Or(s, noSet).locks, func(a, b *Lock) int { return a.Until()", new: "return slices.MaxFunc(cmp.Or(s, noSet).locks, func(a, b *Lock) int { return a.Until()",
		tests: "engine TestSetIsAsGoodAsTheWorstOfItsLocks",
	},
	{
		what: "the names of a set that is lost are renewed on", file: "engine/set.go",
		old: "context.AfterFunc(s.context, s.stopRenewals)", new: "_ = s.stopRenewals",
		tests: "engine TestLossOfOneNameEndsTheRenewalsOfTheOthers",
	},
	{
		what: "a lease that a reader joins is renewed for what the first asked for", file: "engine/handover.go",
		old: "\tl.renewal.ttl = max(l.renewal.ttl, ttl)\n", new: "",
		tests: "engine TestLeaseOfReadersIsRenewedWhileOneOfThemAsksForIt",
	},
	{
		what: "a lock runs out while the Tracer is told of it", file: "engine/trace.go",
		old: "if l.KeepAlive(0) == nil {", new: "if l.Valid() {",
		tests: "engine TestABlockedTracerCostsNoLockAndDelaysNobodyElse",
	},
	{
		what: "a lock is kept alive after the Tracer was told of it", file: "engine/trace.go",
		old: "defer l.keepNoLonger()", new: "_ = l.keepNoLonger",
		tests: "engine TestABlockedTracerCostsNoLockAndDelaysNobodyElse",
	},
	{
		what: "a panic of the Tracer reaches its caller", file: "engine/trace.go",
		old: "if recover() != nil {", new: "if false {",
		tests: "engine TestAPanicOfTheTracerIsCountedAndGoesNoFurther",
	},
	{
		what: "an acquire in a function that holds the name does not say that it waits for itself", file: "engine/hold.go",
		old: "w = withinOf(w.Context) {\n\t\tfor _, l", new: "w = nil {\n\t\tfor _, l",
		tests: "engine TestAnAcquireThatWaitsForItselfSaysSo",
	},
	{
		what: "names that are swept are no longer hot", file: "engine/name_table.go",
		old: "\t\t\tn.coolLocked()\n", new: "",
		tests: "engine TestNamesThatAreSweptStayHot",
	},
	{
		what: "a name that takes over a count is not said to have others' in it", file: "engine/internal/hot/sketch.go",
		old: "s.counts[i].Over = i, name, s.counts[i].N", new: "s.counts[i].Over = i, name, 0",
		tests: "engine/internal/hot TestCountsAreNeverTooLowNorHigherThanTheySay",
	},
	{
		what: "a line of the page is not bounded", file: "engine/snapshot.go",
		old: "if all.HeldAll++; len(all.Held) < most {", new: "if all.HeldAll++; true {",
		tests: "engine/lockdebug TestThePageIsBounded",
	},
	{
		what: "the Tracer is not told of a loss after many failed renewals", file: "engine/trace.go",
		old: "(*l.events)[:min(len(*l.events), mostEvents-1)]", new: "(*l.events)[:min(len(*l.events), mostEvents)]",
		tests: "engine TestEachLossOfAHoldIsAnEvent",
	},
	{
		what: "votes of a refused attempt are those of a lock that was handed over", file: "engine/trace.go",
		old: "if t.Got != gotAsked {", new: "if false {",
		tests: "engine TestTheTracerIsToldHowALockWasGot",
	},
	{
		what: "names that were hot long ago are hot", file: "engine/internal/hot/sketch.go",
		old: "case ago <= Window:", new: "default:",
		tests: "engine/internal/hot TestNamesOfTheLastMinutesAreShown",
	},
	{
		what: "the page has no kind and time of who asks the masters", file: "engine/queue.go",
		old: "n.Asks, n.asker = theirs == 0, asker{c.turn.called, c.kind}", new: "n.Asks = theirs == 0",
		tests: "engine TestThePageHasWhoAsksTheMastersAndSinceWhen",
	},
	{
		what: "two hot names have the same label", file: "engine/internal/inside/snapshot.go",
		old: "return strconv.Quote(name)", new: "return \"?\" + strconv.Quote(\"\")",
		tests: "engine/internal/inside TestNamesThatAreShownDiffer",
	},
}
