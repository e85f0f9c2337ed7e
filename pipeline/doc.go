// Package pipeline carries the calls of many goroutines to N masters in shared
// rounds, and brings back votes. It knows masters, votes and verdicts, not locks:
// what a verdict means for a lock is package engine's affair.
//
// # Why
//
// The naive way to ask N masters is a goroutine per master and call: N goroutines,
// N pooled connections, N writes, N reads and N wake-ups for each lock and each
// unlock. Under load nearly all of that is overhead: a server spends under a
// microsecond on a SET and five to ten on being told of it, and the caller spends
// as much again per master on telling.
//
// "Poor man's multiplexing" is to send to all masters, then read from all, with
// non-blocking sockets. This package does it for all callers at once. Whatever has
// arrived while the masters were busy becomes one round: one batch, encoded once,
// one write and one read per master. A caller parks once and is woken once, by the
// vote that decides its call. There is no goroutine and no timer per call.
//
// # A call, down once and up once
//
//	caller                         one goroutine per master                    N servers
//	Do: call from the pool
//	push: queue, under mu ------.
//	park on call.done           |  next: last one needed to fall idle
//	                            '-> formLocked: the queue becomes a round,
//	                                encoded once, handed to all masters
//	                                parts: of all rounds that wait, what is not over
//	                                exchange: one write ---------------> batch script
//	                                          read <------------------------ replies
//	                                part.read: replies -> voteLocked
//	wake, once <------ call.decide: the first vote that settles the verdict
//	Outcome                        the slower masters vote on, into the round only
//
// A round is formed by a caller that finds enough masters idle, or by the master
// whose falling idle makes them enough. A few calls need as many as can decide them,
// not all; many wait for all but one of the masters that keep pace (readyLocked). So
// nothing waits for a timer, a lone call goes out at once, and under load the rounds
// grow by themselves. A master that is slower takes everything that waits for it in
// its next write: being late never makes it later. What it was not sent before it was
// over, acquire and release both, it is not sent at all (part.go): what was never
// asked cannot have been granted.
//
// # Who owns what
//
//	call           its caller; the round's while state is waiting; after the caller
//	               left, nobody's (the collector's)
//	queue          Pipeline.mu
//	round          fixed once encoded, but for calls, tallies and causes (round.mu);
//	               recycled by the last master that leaves it
//	connection     its master's goroutine; dialled, used and closed there and nowhere else
//	pending, up, busy, ledger of a master   Pipeline.mu
//	awaited names  watch.mu; forgotten with the last who waits (watch.go)
//	goroutines     one per master and one that ticks; started by New, awaited by Close;
//	               one watcher per master, with a connection of its own, from the first
//	               Await on; user code that did not return is left behind
//
// Lock order: Pipeline.mu before round.mu and watch.mu. None is held during I/O.
//
// # A master that does not answer
//
// An exchange that fails, or takes longer than Config.Timeout, ends the connection
// and sets the master aside; so does a reply that speaks of the whole server
// (LOADING, READONLY, OOM, BUSY, ...). From then on rounds are decided without it.
// Its goroutine probes it with growing, jittered pauses, on a fresh connection each
// time: who is it, load the scripts, pay what is owed, take a trial lock. Only then
// is it admitted again. There is one gate, and it has one door: probe.go, admit.
// Config.Changed hears of both, from the master's goroutine, between two sessions.
//
// # A master that was restarted
//
// Whether its server is the one from before, run_id tells, and whether it still has its
// data, master_replid; every tick asks. Another one may be empty, and would grant what
// somebody still holds. It is admitted like any other and told of
// releases and extends, which do no harm where there is no key; acquires are left out of
// what it is sent (part.go) until Config.Wait has passed since its first sight. They count
// as unknown there, so that a quorum is still one of all masters. The rule, with what a
// first meeting has to go by, is admission.go, and is pure. The end of the wait is no
// event: the next round is simply sent whole.
//
// # Pending releases
//
// A SET whose answer never came may have been executed, or may still be. It is
// released like any other; if the master is away by then, the release is pending: the
// first thing that it is told on the next connection, and told once more a while
// later, because a server that was stopped may read the old connection's bytes after
// the new one's. ledger.go keeps the books. It holds at most the locks that were
// alive or under way when the master went away: rounds that pass it by leave
// none, for the same reason as above (Request.Round tells).
//
// # Folding
//
// Batches of foldFrom requests or more travel as calls of one script that works
// through them in order. A round puts its releases first, so that the script can
// take them all with one MGET and one DEL: 0.5 us of server time each, beside 0.9 in
// turn. That order is safe because a release arrives only after the round of its own
// acquire was formed; whatever else shares a round with it is under way at the same
// time, in no order that anybody could have observed. Requests of other kinds keep
// their order of arrival. BenchmarkFold has the figures.
//
// # Encoding
//
// A round is encoded once, into bytes that all masters send. rueidis encodes for each
// connection, so it is given stand-ins (session.go, wire): 7 % more cycles at 1024
// workers, 6 % at 64. Nothing else of rueidis is bent: it dials, greets,
// authenticates, keeps the deadline and parses the replies.
//
// # Tried and refused
//
// AlwaysPipelining with rueidis's ring: two goroutines and three hand-overs more per
// batch, 5 % more latency for a lone caller, nothing gained under load. A ticker in
// each master's select: a timer is put into and taken out of the heap per round.
// Tokens in one argument, cut apart or unpacked (cmsgpack, cjson) in Lua: cheaper to
// send, dearer to run. Plain SETs beside a folded release: what the server saves the
// client spends. Two pipelines by hash of the name: 10 % slower at 64 workers, even at
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
//     that can be left behind, at most mostCalls of each for a master (dial.go).
//   - NOSCRIPT proves that a command was not executed, so repeating it is safe; and a
//     session is one server process, so it was a SCRIPT FLUSH and not a restart.
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
//   - A push may reach the watcher before the reply that it followed: rueidis hands
//     them over on different goroutines.
//   - Redis accepts CLIENT TRACKING on a RESP2 connection and then never pushes.
//     rueidis refuses that (ErrNoCache) unless DisableCache is set.
//   - A server quotes the arguments of a command that it does not know: the password,
//     where AUTH was renamed. withoutArguments cuts them off.
//   - Masters in up state with nothing to do are counted in idle; whoever clears up or
//     sets busy adjusts it in the same critical section.
package pipeline
