// Package pipeline carries the calls of many goroutines to N masters in shared
// rounds, and brings back votes. It knows masters, votes and verdicts, not locks:
// what a verdict means for a lock is decided in package engine.
//
// # Why
//
// The naive way to ask N masters is a goroutine per master and call: N goroutines,
// N pooled connections, N writes, N reads and N wake-ups for each lock and each
// unlock. Under load nearly all of that is overhead: a server spends under a
// microsecond on a SET and five to ten on receiving it, and the caller spends as much
// again per master on sending.
//
// "Poor man's multiplexing" is to send to all masters, then read from all, with
// non-blocking sockets. This package does it for all callers at once. Whatever has
// arrived while the masters were busy becomes one round: one batch, encoded once,
// one write and one read per master. A caller parks once and is woken once, by the
// vote that decides its call. There is no goroutine and no timer per call.
//
// # A call, down once and up once
//
//	caller                                 one reader per master            N servers
//	Do: call from the pool
//	push: queue, under mu
//	  formLocked: the queue becomes a round,
//	      encoded once, a part per master <------ complete: the last one needed
//	    sendUnsentLocked: as much of what               to have room
//	      waits as the pace allows becomes flights
//	unlock: write, to all masters, without waiting -----------------------> batch script
//	park on call.done                      serve: replies of the oldest <------- replies
//	                                         flight
//	                                       part.read: replies -> voteLocked
//	wake, once <--------------------------- call.decide: the first vote that settles the verdict
//	Outcome                                the slower masters vote on, into the round only
//
// A round is formed, and written, by a caller that finds enough masters with room for it,
// or by the reader whose master's answers make them enough. A few calls need as many as
// can decide them, not all; many wait for all but one of the masters that keep pace
// (shouldFormLocked). So nothing waits for a timer, a lone call is sent at once, and under
// load the rounds grow by themselves. Releases come first, then extends, then acquires
// (queue.go).
//
// Room is what a master has been measured to do (package pace): requests on the wire for a part
// of the timeout, and as many writes at once as keep the connection filled. A master that
// is near has one, so that rounds are large where the processor is the limit; one that is
// far has many, so that a call waits for no other. What does not fit waits for the master,
// in pieces if it must. One that is slower than the others takes all that waits in one
// write when it has room: being late never makes it later. If a lock's acquire and release
// both wait, neither is sent (part.go): what was never asked cannot have been granted. When
// too much waits even so, the master is behind: rounds skip it until it has caught up. It is
// not set aside for that.
//
// Order holds on the one connection: a release is written after its acquire and so is
// executed after it. What is repeated runs behind what has been sent meanwhile; so an
// acquire whose release is among that is not repeated (repeatLocked).
//
// # Who owns what
//
//	call           its caller; the round's while state is waiting; after the caller
//	               left, nobody's (the collector's)
//	queue; status, outbox, inFlight, speed, link, pending of a master   Pipeline.mu
//	round          fixed once encoded, but for calls, tallies and causes (round.mu);
//	               recycled by the last master that leaves it
//	connection     dialled, read and closed by its master's reader; written by who has set
//	               writing: whoever formed a round or, what a socket does not take at
//	               once, the master's writer (write.go)
//	subscriptions  Wakeups.mu; each ends with its last waiter (package wakeup)
//	goroutines     a reader and a writer per master and one that ticks; started by New,
//	               awaited by Close; one tracker per master from the first Await
//	               on, with a connection of its own while names are awaited; user code that did not return is left behind
//
// Lock order: Pipeline.mu before round.mu and Wakeups.mu. None is held during I/O.
//
// # Rooms
//
// This package has the way of a call. What it needs of a master lies in rooms of its own, which know
// nothing of rounds:
//
//	internal/conn         a connection: dialling, the wire, commands in a dialect, what replies mean
//	internal/wakeup       notifying those who wait for a name: subscriptions, a tracker per master
//	internal/membership   when a master may vote; the set; what operators do to masters
//	internal/pending      what may be at a master, and the releases that it still needs; pure
//	internal/pace         how much a master is sent at once; pure
//
// The steps of an admission (member, register_restore, register_raise) are here, although their rule
// and their commands are membership's: each is sent and answered in order with the rounds.
//
// Files of this package:
//
//	pipeline, call, queue, form, round, part   from a caller to a round and its votes
//	send, write, receive       a master's share of it; flight: what it has not answered
//	master, probe              connecting, and admitting a master to rounds
//	standing                   reporting that to Config.Changed
//	optimism                   when many acquires are asked for at once, with a native command
//	member, register_restore, register_raise   fencing: the steps of an admission
//	hung_master, setaside      finding a hung master, and taking it out of rounds
//	pending_batch              sending pending releases
//	await, inspect, ready      waiting for a name, and for a quorum; what is under a name, for people
//
// # A master that does not answer
//
// A master is hung when nothing has come for Config.Timeout since its oldest flight was
// sent; the time that this process was stopped does not count (hung_master.go). That, or an error,
// ends the connection and sets the master aside (setaside.go); so does a reply about the
// whole server (LOADING, READONLY, OOM, BUSY, a command that the ACL forbids, ...). An error
// about one name is one call's unknown vote. From then on rounds are decided without the
// master. Its reader probes it with growing, jittered pauses, on a fresh connection each
// time: its identity, the scripts, the pending releases, a trial lock. Only then is it
// admitted again. There is one gate: probe.go, admit. Config.Changed is called by the master's
// reader, when the master is set aside, when it is up but must wait, and when it votes.
//
// # A master that was restarted
//
// run_id identifies the server, and master_replid its data. A check asks for the latter: in front
// of requests when the last one is a tick old, every few seconds where nothing is sent. A server
// that is another one, or has other data, may be empty, and would grant what somebody still holds. It is admitted like any other and sent releases and extends, which do no harm
// where there is no key. Acquires are left out (part.go) until Config.Wait has passed since
// it was seen first. They count as unknown there, so that a quorum is still one of all
// masters. The rule, and that for a server that is met for the first time, is membership.Admission,
// and is pure. Nothing is done at the end of the wait: the next round is sent whole.
//
// # Fencing
//
// A fenced acquire is a call of one script, which checks the set's description, moves the
// registers and sets the keys; package fencing has the rule, and internal/testing/model checks it. Who
// grants a token and who stores it is counted by master (round.grants); the engine raises it,
// if it must, with an Extend whose votes count only from those who granted it (Request.Among).
//
// Why rounds in flight keep the conditions of the rule. One grant per attempt: an acquire that
// is repeated was not executed before. A late master, one that was skipped, or was spared what
// came and went, has smaller registers and grants less; it counts for a token only where it
// stores as much. To make that rare each acquire proposes a token above all that this
// process has seen, the same to all masters, and one that was spared acquires gets their
// registers (register_raise.go). A grant that arrives after the verdict is in no Outcome, so it cannot
// be counted. An Extend carries the token too, so that masters which come and go in the life
// of a lock keep it.
//
// A master votes while it is a member (member.go): its description is the one that New
// adopted, and its mark names it and the process of its session. An acquire that finds another
// description, or no mark, is refused by the script, unexecuted. Every answer comes with the mark, since
// a round is encoded once for all masters and can expect none: with another one than the session's
// it is no vote, although it was executed, and the release that follows undoes it. In both
// cases the master is set aside and looked at again. So a process that was stopped while a master
// was flushed or copied finds out by the answer itself, and not by a tick.
//
// # Pending releases
//
// A SET whose answer never came is in doubt: it may have been executed, or may still be. It
// is released like any other. If the master is away by then, the release is pending: it is
// sent first on the next connection, and once more a while later, because a server that was
// stopped may read the old connection's bytes after the new one's (package pending). At most the
// locks that were alive or under way when the master went away have pending releases: rounds
// that skip it add none, since it was never asked for their locks (Request.Origin).
//
// # Folding
//
// An acquire is a plain SET, where the server has no MSETEX (conn, native.go). conn.FoldFrom extends and
// releases or more travel as calls of one script that works through them in order. A round puts its releases first, so that the
// script can take them all with one MGET and one DEL: 0.7 us of server time each, beside
// 2.1 by a script each. That order is safe because a release arrives only after the round
// of its own acquire was formed; whatever else shares a round with it is under way at the
// same time, in no order that anybody could have observed. Requests of other kinds keep
// their order of arrival. BenchmarkFold has the figures.
//
// Each master is sent a round in its own dialect; it is encoded once for each of these. An
// MSETEX NX takes all of its locks or none. A refused one is asked for again, each name
// alone, under the rule for what was not executed: an acquire whose release has been formed
// meanwhile is not. Names that are contended, or there twice, stay out of it. A server that
// refuses often is asked singly for a while (optimism).
//
// Where a name of a folded call is denied by an ACL, the server refuses the call
// unexecuted. Its entries are asked for again, each alone. An acquire is alone anyway, and
// so is the release of a name that was denied (Request.Alone).
//
// # The wire
//
// rueidis dials, greets and authenticates; then the connection is ours (conn, wire.go). A round
// is encoded once, into bytes that all masters are sent, where rueidis would encode for
// each; and rueidis in its synchronous mode has one batch in flight, in its pipelined mode
// two goroutines and three hand-overs more per batch.
//
// # Tried and refused
//
// One round in flight per master, however far: an acquire a millisecond away takes 1.7
// times a lone caller's. A least time between rounds: as slow as one in flight. A goroutine
// per master that writes its own socket: a lone caller waits for a hand-over more.
// Extends by SET IFEQ: in Redis 8.6.3 a key that it sets while the server's table is being
// resized may outlive its deletion, about once in 10,000 cycles, and the lock with it.
// Tokens in one argument, cut apart or unpacked (cmsgpack, cjson) in Lua: cheaper to
// send, dearer to run. Acquires in the script, too: 10 % slower at 64 workers, 15 % at
// 1024, since Lua makes a SET dearer than its reply is. Fenced acquires as MULTI, a script for
// the registers, plain SETs and EXEC: no cheaper for the servers than MSETNX and a PEXPIRE each in
// the script, and each brings two replies to read instead of a share of one
// (bench/RESULTS.md). Two pipelines by hash of the name: 10 % slower at 64 workers, even at
// 1024, on two processors. Rounds of at most 512: 5 to 15 % slower at 1024 workers.
//
// # Non-obvious
//
//   - A verdict of "no quorum" waits while refusals still to come could make it
//     "denied": the two ask different things of the caller.
//   - A session's client may dial once. rueidis dials silently after an error, and a
//     batch could reach a server that was restarted empty and be granted there.
//   - AuthCredentialsFn's RefreshAfter is taken out: re-authentication would share
//     the connection and put rueidis into its pipelined mode, where nothing ends a
//     read from a hung server.
//   - The user's dialler, credentials and TLS callbacks may never return: they run in goroutines
//     that can be left behind, at most conn.MostCalls of each for a master.
//   - NOSCRIPT and NOPERM on a key prove that a command was not executed; and a session is
//     one server process, so it was a SCRIPT FLUSH and not a restart.
//   - While a far master's votes wake many callers, none of them forms a round: they ask
//     again at once, and are to leave together (voting).
//   - The bytes of a round may still be written when its connection has ended, so whoever
//     sets a master aside waits for the write before it leaves the round.
//   - A read deadline is set when the last one has passed, not for each round.
//   - The wait after a restart counts from the first INFO, also where the rest of that
//     probe failed, and not from admission. Uptime counts at a first meeting only: it
//     follows the server's wall clock. A run_id that comes back after another is new:
//     two servers may take turns behind one address.
//   - A replica keeps its run_id when it is promoted, and a PING succeeds there. Redis forgets
//     that a master was a replica, but not within a second: a check that comes later than that
//     takes any new master_replid for another data set.
//   - A lock that a waiting master was never asked for is released there all the same.
//   - A call is abandoned by compare-and-swap. If the voter wins, the caller takes the
//     verdict although its ctx has ended: the lock exists and must not be forgotten.
//   - PTTL arms client tracking, of a key that is absent too, and does not fetch the
//     token as GET would. CLIENT CACHING YES holds for the next command only.
//   - A push may reach the tracker before the reply that it followed: rueidis delivers
//     them on different goroutines.
//   - Redis accepts CLIENT TRACKING on a RESP2 connection and then never pushes.
//     rueidis refuses that (ErrNoCache) unless DisableCache is set.
//   - A server quotes the arguments of a command that it does not know: a token, or the
//     password where AUTH was renamed. Errors lose them where they are read: those of replies
//     in resp.Read, those in a script's answer in conn.faultOf, those of rueidis in conn.Dial.
package pipeline
