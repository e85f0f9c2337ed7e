// Package pipeline carries the calls of many goroutines to N masters in shared rounds, and brings
// back votes. It knows masters, votes and verdicts, not locks: package engine decides what a
// verdict means for a lock.
//
// # Why
//
// The naive way to ask N masters is a goroutine per master and call: N goroutines, N pooled
// connections, N writes, N reads and N wake-ups for each lock and each unlock. Under load nearly
// all of this is overhead: a server executes a SET in under a microsecond, and takes five to ten
// to receive it. The caller takes as long again, per master, to send it.
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
//	    sendUnsentLocked: unsent commands               masters room
//	      become flights, as many as the pace allows
//	unlockAndWrite: all masters, without waiting -------------------------> batch script
//	park on call.done                      serve: replies of the oldest <------- replies
//	                                         flight
//	                                       part.read: replies -> voteLocked
//	wake, once <--------------------------- call.decide: the first vote that decides it
//	Outcome                                slower masters vote later, into the round only
//
// A caller forms and writes a round if enough masters have room for it. Else a reader does, once
// its master's answers have made enough room. A few calls need room at a quorum of masters. Many
// calls need room at all but one of the prompt masters (shouldFormLocked). So nothing waits for a
// timer, a lone call is sent at once, and rounds grow with the load. Releases come first, then
// extends, then acquires (queue).
//
// Room is how many writes and requests may be on the wire to a master. Package pace derives it from
// measurements. Requests beyond it wait for the master, and may be sent in pieces. A slow master
// with room takes as many waiting requests as fit in one write: being late never makes it later. If
// a lock's acquire and release both wait, neither is sent (compact): a master cannot have granted a
// lock that it was never asked for. If too many requests wait even so, the master is behind: rounds
// skip it until it has caught up. It is not set aside.
//
// The one connection keeps the order: a release is written, and so executed, after its acquire. A
// repeated command runs behind the commands sent meanwhile. So an acquire is not repeated if its
// release was formed meanwhile (repeatLocked).
//
// # Who owns what
//
//	call           its caller; the round's while state is waiting; after the caller
//	               went away, nobody's (the collector's)
//	queue          Pipeline.mu
//	master         stated at each of its structs: Pipeline.mu guards most; only run writes
//	               link and server, so run may read them without mu
//	round          fixed once encoded, but for calls, ballots and causes (round.mu);
//	               recycled by the last master that leaves it
//	connection     dialled, read and closed by its master's reader; written by the
//	               goroutine that has set writing: it formed a round or, for bytes that the
//	               socket did not take at once, is the master's writer (write)
//	subscriptions  Wakeups.mu; each ends with its last waiter (package wakeup)
//	goroutines     a reader and a writer per master, and one that ticks; started by New,
//	               awaited by Close. From the first Await on, a tracker per master, which
//	               has a connection of its own while names are awaited. Goroutines in user
//	               code that does not return are left behind
//
// Lock order: Pipeline.mu before round.mu and Wakeups.mu. None is held during I/O.
//
// # Internal packages
//
// This package has the path of a call. Its internal packages do not know how rounds are formed:
//
//	internal/conn         a connection: dialling, the wire, commands in a dialect, what replies mean
//	internal/wakeup       notifying the waiters of a name: subscriptions, a tracker per master
//	internal/membership   when a master may vote; the set; what operators do to masters
//	internal/pending      which locks may be at a master, and which releases it still needs; pure
//	internal/pace         how much a master is sent at once; pure
//
// Package membership has the rule and the commands of an admission. Its steps are here (member,
// register_restore): each is sent and answered in order with the rounds.
//
// Files of this package:
//
//	pipeline, call, queue, form, round, part   from a caller to a round and its votes
//	send, write, receive, flight   a master's requests: waiting, being written, answered, on the wire
//	master, probe                  connecting, and admitting a master to rounds
//	standing                       what Config.Changed and Stats report of a master
//	optimism                       when to ask for many acquires at once, with a native command
//	member, register_restore       fencing: the steps of an admission
//	hung_master, setaside          finding a hung master, and taking it out of rounds
//	resting                        a master whose idle connection ended
//	pending_batch                  sending pending releases
//	await, inspect, ready          waiting for a name; a name's value, for people; waiting for a quorum
//
// # A master that does not answer
//
// A hung master (hung_master), an error, or a reply about the whole server (LOADING, READONLY, OOM,
// BUSY, a command that the ACL forbids, ...) ends the connection. The master is set aside
// (setaside), and rounds are decided without it. An error about one name is only an unknown vote on
// one call. The reader then probes the master with growing, jittered pauses, each time on a fresh
// connection. A probe checks its identity, loads the scripts, sends the pending releases and tries
// a lock. Only admit (probe) lets the master in again. The reader calls Config.Changed when the
// master is set aside, when it is up but must wait, and when it votes.
//
// If a connection ends with nothing under way, the master rests instead (resting): a server closes
// idle connections. The master is dialled once, and nothing is reported if the same server answers.
//
// # A master that was restarted
//
// run_id identifies the server, and master_replid its data. A check asks for master_replid
// (newCheck). Another server, or other data, may lack a lock that somebody still holds, and would
// grant it again. Such a master is admitted like any other. It gets releases and extends, which do
// no harm if there is no key (with fencing releases alone: its votes on extends could not count).
// It gets no acquires (part) until Config.Wait has passed since the
// server was first seen. Until then its votes on acquires are unknown, so that a quorum is still a
// quorum of all masters. membership.Server has the rule, also for a first meeting. Nothing is done
// at the end of the wait: the next round is sent whole.
//
// # Fencing
//
// A fenced acquire is a call of one script, which checks the set's description, moves the registers
// and sets the keys. Package fencing has the rule, and internal/testing/model checks it. The round
// notes the token that each master granted (round.grants). If too few masters store the attempt's
// token, the engine raises it with an Extend, where only masters that granted count (Request.Among).
//
// Rounds in flight meet the conditions of the rule. There is one grant per attempt: a repeated
// acquire was not executed before. A late master, whose acquires were skipped or dropped, has
// smaller registers and grants smaller tokens; it counts for a token only if it stores that much.
// To make smaller grants rare, each acquire proposes one token to all masters, above all tokens that
// this process has seen, and a late master gets the registers of its dropped acquires (newRaising).
// A grant that arrives after the verdict is in no Outcome, so it cannot be counted. An Extend
// carries the token, too: so masters store it although they come and go in the life of a lock.
//
// A master votes while it is a member (member): its description is the one that New adopted, and
// its mark names the master and the server process of its session. The script refuses an acquire
// unexecuted if it finds another description or no mark. Every answer carries the mark: a round is
// encoded once for all masters, so it cannot name the mark to expect. An answer with another mark
// than the session's is no vote, although the acquire was executed; the release that follows undoes
// the acquire. In both cases the master is set aside and checked again. So a process that was
// stopped while a master was flushed or copied learns of it from the answer itself, not from a tick.
//
// # Pending releases
//
// An acquire whose answer never came is in doubt: it may have been executed, or may still be. It is
// released like any other. If the master is away by then, the release is pending. Package pending
// says which releases are pending, and why each is sent twice.
//
// # From one holder to the next
//
// A lock with many waiters goes to the next in the cheapest way available:
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
//	                                                              (engine/retry.go): two round trips
//
// The first way ignores other processes, so it is bounded. The second keeps the order among
// processes, and wakes one waiter. The third needs nothing of servers but client tracking. It also
// notices holders that died, and clients of other libraries.
//
// A Wait puts a token in line; a Pass by the holder passes the lock on. The push comes on the
// connection of rounds, not on the tracker's. So pushes are in order with the replies, are heard
// for as long as the connection lives, and belong to the session that the probe has checked. A
// connection subscribes when somebody first asks for lines (Lines). Each connection has its own
// channel, so a round with a Wait is encoded for each master. A grant by push is a vote, and counts
// under the same conditions (master.pushed).
//
// A Wait is queued with the acquires, a Pass with the releases. On a connection without a line a
// Pass is sent as a Release, and so is a pending Pass. The Release leaves the token's entry in line.
// The master skips the entry, since nobody hears its channel. But for the dead-peer time it may
// count the dead connection as a listener, and pass a lock to the token. The second Release deletes
// the key of that lock.
//
// # Folding
//
// An acquire is a plain SET, or one of many in an MSETEX. From conn.FoldFrom on, extends and
// releases travel as calls of one script that works through them in order. A round puts its
// releases first, so that the script takes them all with one MGET and one DEL: 0.7 us of server
// time each, against 2.1 with a script each. That order is safe. A release arrives only after the
// round of its own acquire was formed. All other requests of a round are under way at the same
// time, in no order that anybody could observe. Requests of one kind keep their order of arrival.
// BenchmarkFold has the figures.
//
// A round is encoded once per dialect, and sent to each master in the master's dialect. An MSETEX NX
// takes all of its locks or none. After a refusal each acquire is repeated alone, unless its release
// has been formed meanwhile. Contended names stay out of MSETEX, and no MSETEX has a name twice. A
// server that refuses often gets acquires singly for a while (optimism).
//
// The acquires of a Set (Request.Joint) are neighbours in the queue, and stay together from there on: in
// a round, in a command, when the obsolete requests of a late master are dropped, and when they are
// repeated. Each master grants all of them or none, so they have the same votes. Otherwise each is an
// acquire like others, with its own release. The script takes Sets that MSETEX does not, by an MSETNX
// and a PEXPIRE for each name. Its answer says which name is held.
//
// A choice (Request.OneOf) stays together like a Set. Each master grants the first free name of it, and answers for each
// name that it is held, granted or not tried. At most one name wins, since a master grants one. After the last master's
// answer, the round releases each name that did not win, but that a master granted or may have granted.
//
// If an ACL denies a name of a folded call, the server refuses the call unexecuted, and each
// entry is repeated alone. A plain acquire is alone anyway, and so is the release of a
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
// One round in flight per master, however far: an acquire a millisecond away takes 1.7 times as long
// as a lone caller's. A least time between rounds: as slow as one round in flight. A goroutine per
// master that writes its own socket: a lone caller waits for one more hand-over. Extends by SET IFEQ: in
// Redis 8.6.3 a key that it sets while the server's table is being resized may outlive its
// deletion, about once in 10,000 cycles, and the lock with it. Tokens in one argument, cut apart
// or unpacked (cmsgpack, cjson) in Lua: cheaper to send, dearer to run. Acquires in the script,
// too: 10 % slower at 64 workers, 15 % at 1024, since Lua makes a SET dearer than its reply is.
// Fenced acquires as MULTI, a script for the registers, plain SETs and EXEC: no cheaper for the
// servers than MSETNX and a PEXPIRE each in the script, and each brings two replies to read
// instead of a share of one. Two pipelines by hash of the name: 10 % slower at
// 64 workers, even at 1024, on two processors. Rounds of at most 512: 5 to 15 % slower at 1024
// workers.
//
// # Non-obvious
//
// What is not obvious in an internal package, or about one function, is noted there.
//
//   - A verdict of "no quorum" waits while further refusals could make it "denied": the two ask
//     different things of the caller.
//   - A read deadline is set when the last one has passed, not for each round.
//   - A call is abandoned by compare-and-swap. If the voter wins, the caller takes the verdict
//     although its ctx has ended: the lock exists and must not be forgotten.
//   - A length of -2, a deeply nested reply or an unrequested reply crashes the process in rueidis,
//     even in rueidis's own goroutine. Whatever listens at an address could send one.
//   - A late master that was sent neither the acquire nor the release of a lock does not have the
//     lock: its vote on the release is a yes.
//   - A server quotes the arguments of a command that it does not know: a token, or the password
//     if AUTH was renamed. Errors are stripped of them where they are read: replies in resp.Read, a
//     script's answer in conn.faultOf, rueidis's errors in conn.Dial.
package pipeline
