// Package pipeline carries the calls of many goroutines to N masters in shared rounds, and brings
// back votes. It knows masters, votes and verdicts, not locks: package engine decides what a
// verdict means for a lock.
//
// # Why
//
// The naive way to ask N masters is a goroutine per master and call: N goroutines, N pooled
// connections, N writes, N reads and N wake-ups for each lock and each unlock. Under load nearly
// all of that is overhead: a server spends under a microsecond on a SET and five to ten on
// receiving it. The caller spends as much again per master on sending.
//
// "Poor man's multiplexing" sends to all masters, then reads from all, with non-blocking sockets.
// This package does that for all callers at once. The calls that arrive while the masters are
// busy become one round: one batch, encoded once, with one write and one read per master. A
// caller parks once, and the vote that decides its call wakes it. No call has a goroutine or a
// timer of its own. DoMany queues many calls at once, and parks once for all of them.
//
// # A call, down once and up once
//
//	caller                                 one reader per master            N servers
//	Do: call from the pool
//	push: queue, under mu
//	  formLocked: the queue becomes a round,
//	      encoded once, a part per master <------ complete: it gives enough
//	    sendUnsentLocked: as much of what               masters room
//	      waits as the pace allows becomes flights
//	unlockAndWrite: all masters, without waiting -------------------------> batch script
//	park on call.done                      serve: replies of the oldest <------- replies
//	                                         flight
//	                                       part.read: replies -> voteLocked
//	wake, once <--------------------------- call.decide: the first vote that settles the verdict
//	Outcome                                the slower masters vote on, into the round only
//
// A caller forms and writes a round if enough masters have room for it. Else a reader does, when
// the answers of its master give enough of them room. A few calls need room at as many masters as
// can decide them. Many wait for all but one of the masters that keep pace (shouldFormLocked). So
// nothing waits for a timer, a lone call is sent at once, and rounds grow with the load. Releases
// come first, then extends, then acquires (queue).
//
// Room is how many writes and requests may be on the wire to a master. It follows from what the
// master was measured to do (package pace). What does not fit waits for the master, in pieces if it
// must. A master slower than the others takes all that waits in one write when it has room: being
// late never makes it later. If a lock's acquire and release both wait, neither is sent (compact): a
// master cannot have granted what it was never asked. If too much waits even so, the master is
// behind: rounds skip it until it has caught up. It is not set aside for that.
//
// Order holds on the one connection: a release is written after its acquire, and so is executed
// after it. What is repeated runs behind what was sent meanwhile. So an acquire is not repeated
// if its release is among that (repeatLocked).
//
// # Who owns what
//
//	call           its caller; the round's while state is waiting; after the caller
//	               left, nobody's (the collector's)
//	queue          Pipeline.mu
//	master         each of its structs says: Pipeline.mu guards most; run alone writes link
//	               and server, so it may read them without
//	round          fixed once encoded, but for calls, ballots and causes (round.mu);
//	               recycled by the last master that leaves it
//	connection     dialled, read and closed by its master's reader; written by whoever has
//	               set writing: whoever formed a round or, if the socket does not take all
//	               at once, the master's writer (write)
//	subscriptions  Wakeups.mu; each ends with its last waiter (package wakeup)
//	goroutines     a reader and a writer per master, and one that ticks; started by New,
//	               awaited by Close. From the first Await on, a tracker per master, which
//	               has a connection of its own while names are awaited. User code that
//	               does not return is left behind
//
// Lock order: Pipeline.mu before round.mu and Wakeups.mu. None is held during I/O.
//
// # Rooms
//
// This package has the way of a call. Rooms beside it do not know how rounds are formed:
//
//	internal/conn         a connection: dialling, the wire, commands in a dialect, what replies mean
//	internal/wakeup       notifying those who wait for a name: subscriptions, a tracker per master
//	internal/membership   when a master may vote; the set; what operators do to masters
//	internal/pending      what may be at a master, and the releases that it still needs; pure
//	internal/pace         how much a master is sent at once; pure
//
// Package membership has the rule and the commands of an admission. Its steps are here (member,
// register_restore): each is sent and answered in order with the rounds.
//
// Files of this package:
//
//	pipeline, call, queue, form, round, part   from a caller to a round and its votes
//	send, write, receive, flight   a master's share: what waits, is written, is answered, is on the wire
//	master, probe                  connecting, and admitting a master to rounds
//	standing, stats                what Config.Changed and Stats report of it
//	optimism                       when to ask for many acquires at once, with a native command
//	member, register_restore       fencing: the steps of an admission
//	hung_master, setaside          finding a hung master, and taking it out of rounds
//	pending_batch                  sending pending releases
//	await, inspect, ready          waiting for a name, and for a quorum; what is under a name, for people
//
// # A master that does not answer
//
// A hung master (hung_master), an error, or a reply about the whole server (LOADING, READONLY, OOM,
// BUSY, a command that the ACL forbids, ...) ends the connection. The master is set aside
// (setaside), and rounds are decided without it. An error about one name is only an unknown vote on
// one call. The reader probes the master with growing, jittered pauses, each time on a fresh
// connection: its identity, the scripts, the pending releases, a trial lock. Only then is it
// admitted again, through one gate: admit (probe). The reader calls Config.Changed when the master
// is set aside, when it is up but must wait, and when it votes.
//
// # A master that was restarted
//
// run_id identifies the server, and master_replid its data. A check asks for the latter (newCheck).
// Another server, or one with other data, may be empty, and would grant what somebody still holds.
// It is admitted like any other, and sent releases and extends: they do no harm if there is no key
// (with fencing, releases alone: extends could not count).
// Acquires are left out (part) until Config.Wait has passed since the server was seen first. They
// count as unknown there, so that a quorum is still one of all masters. membership.Server has the
// rule, also for a first meeting. Nothing is done at the end of the wait: the next round is sent
// whole.
//
// # Fencing
//
// A fenced acquire is a call of one script, which checks the set's description, moves the registers
// and sets the keys. Package fencing has the rule, and internal/testing/model checks it. The round
// counts by master who grants a token and who stores it (round.grants). If it must, the engine
// raises a token with an Extend, where only the masters that granted it count (Request.Among).
//
// Rounds in flight keep the conditions of the rule. There is one grant per attempt: an acquire that
// is repeated was not executed before. A late master, whose acquires were skipped or dropped, has
// smaller registers and grants less; it counts for a token only where it stores as much. To make
// that rare, each acquire proposes one token to all masters, above all tokens that this process has
// seen. A master gets the registers of acquires that were dropped (newRaising). A grant that
// arrives after the verdict is in no Outcome, so it cannot be counted. An Extend carries the token,
// too: masters keep it although they come and go in the life of a lock.
//
// A master votes while it is a member (member): its description is the one that New adopted, and
// its mark names it and the process of its session. The script refuses an acquire unexecuted if
// it finds another description or no mark. Every answer comes with the mark, since a round is
// encoded once for all masters and can expect none. An answer with another mark than the
// session's is no vote, although it was executed; the release that follows undoes it. In both
// cases the master is set aside and looked at again. So a process that was stopped while a master
// was flushed or copied learns it from the answer itself, and not from a tick.
//
// # Pending releases
//
// An acquire whose answer never came is in doubt: it may have been executed, or may still be. It is
// released like any other. If the master is away by then, the release is pending. Package pending
// knows which releases are, and why each is sent twice.
//
// # From one holder to the next
//
// A name that many want goes on in the cheapest way there is:
//
//	             waits in this process,
//	Release ---> bound not reached --------> handed over: no request (engine/handover.go)
//	   |
//	   |         in line at the masters                            of a quorum
//	   |-------> Pass: each sets the next one's token ------ pushes ----------> held, after a round trip
//	   |              |                                                         (engine/place.go)
//	   |              '--nobody hears--> deleted
//	   |
//	   '-------> Release: each deletes the key --invalidations--> the first in line asks, or, without
//	             no line is known of                              lines, each contender after a delay
//	                                                              (engine/contend.go): two round trips
//
// The first way knows no other process, so it is bounded. The second keeps the order among
// processes, and wakes one. The third needs nothing of servers but client tracking. It also finds
// what the others cannot: a holder that died, and clients of other libraries.
//
// A token stands in line by a Wait; whoever has the lock passes it on by a Pass. The push comes on
// the connection of rounds, not on the tracker's. So it is in order with the replies, is heard for
// as long as the connection lives, and belongs to the session that the probe has looked at. A
// connection subscribes when somebody first asks for lines (Lines). Each has a channel of its own,
// so a round with a Wait is encoded for each master. A grant by push is a vote, and counts under
// the conditions of one (master.pushed).
//
// A Wait is of the class of acquires, a Pass of that of releases. A connection without a line is
// sent a Pass as a Release, and so is a pending one repeated. That leaves the token's entry in line.
// Nobody hears its channel, so it is skipped; but for the dead-peer time the master may count the
// connection that died, and pass a lock to the token. The second Release deletes that.
//
// # Folding
//
// An acquire is a plain SET, or one of many in an MSETEX. From conn.FoldFrom on, extends and
// releases travel as calls of one script that works through them in order. A round puts its
// releases first, so that the script takes them all with one MGET and one DEL: 0.7 us of server
// time each, beside 2.1 by a script each. That order is safe. A release arrives only after the
// round of its own acquire was formed. All else in a round is under way at the same time, in no
// order that anybody could have observed. Requests of one kind keep their order of arrival.
// BenchmarkFold has the figures.
//
// A round is encoded once per dialect, and each master is sent it in its own. An MSETEX NX takes
// all of its locks or none. After a refusal each name is asked for alone, under the rule for what
// was not executed: an acquire is left out if its release has been formed meanwhile. Names that
// are contended, or there twice, stay out of MSETEX. A server that refuses often is asked singly
// for a while (optimism).
//
// The acquires of a set (Request.Set) are neighbours in the queue, and stay together from there on: in
// a round, in a command, when a late master drops what is obsolete, when what was not executed is asked
// for again. Each master takes all of them or none. So they have the same votes, and each is otherwise an
// acquire like others, with its own release. The script takes those that MSETEX does not: by a MSETNX and a
// PEXPIRE for each. Its answer says which name is held.
//
// A choice (Request.OneOf) stays together as a set does. Each master grants the first of it that is free, and answers
// for each that it is held, granted or not tried. At most one wins, since a master grants one. When the last master has
// answered, the round releases those that did not win and may be somewhere.
//
// If an ACL denies a name of a folded call, the server refuses the call unexecuted, and each
// entry is asked for again, alone. A plain acquire is alone anyway, and so is the release of a
// denied name (Request.Alone).
//
// # The wire
//
// rueidis dials, greets and authenticates; then the connection is ours (conn.Session). rueidis
// trusts what it reads, so it reads behind a guard (package guard). rueidis would encode a round for
// each master. In its synchronous mode it has one batch in flight. In its pipelined mode it takes
// two goroutines and three hand-overs more per batch.
//
// # Tried and refused
//
// One round in flight per master, however far: an acquire a millisecond away takes 1.7 times a
// lone caller's. A least time between rounds: as slow as one in flight. A goroutine per master
// that writes its own socket: a lone caller waits for a hand-over more. Extends by SET IFEQ: in
// Redis 8.6.3 a key that it sets while the server's table is being resized may outlive its
// deletion, about once in 10,000 cycles, and the lock with it. Tokens in one argument, cut apart
// or unpacked (cmsgpack, cjson) in Lua: cheaper to send, dearer to run. Acquires in the script,
// too: 10 % slower at 64 workers, 15 % at 1024, since Lua makes a SET dearer than its reply is.
// Fenced acquires as MULTI, a script for the registers, plain SETs and EXEC: no cheaper for the
// servers than MSETNX and a PEXPIRE each in the script, and each brings two replies to read
// instead of a share of one (bench/RESULTS.md). Two pipelines by hash of the name: 10 % slower at
// 64 workers, even at 1024, on two processors. Rounds of at most 512: 5 to 15 % slower at 1024
// workers.
//
// # Non-obvious
//
// What is not obvious in a room, or about one function, stands there.
//
//   - A verdict of "no quorum" waits while refusals to come could make it "denied": the two ask
//     different things of the caller.
//   - A read deadline is set when the last one has passed, not for each round.
//   - A call is abandoned by compare-and-swap. If the voter wins, the caller takes the verdict
//     although its ctx has ended: the lock exists and must not be forgotten.
//   - A length of -2, a deeply nested reply or one that was not asked for ends the process in
//     rueidis, also from a goroutine of its own. Whatever listens at an address could send it.
//   - A late master that was sent neither the acquire nor the release of a lock does not have it:
//     its vote on the release is a yes.
//   - A server quotes the arguments of a command that it does not know: a token, or the password
//     if AUTH was renamed. Errors lose them where they are read: replies in resp.Read, a
//     script's answer in conn.faultOf, rueidis's errors in conn.Dial.
package pipeline
