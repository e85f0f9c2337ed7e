// Package engine gives out locks on N independent Redis masters. It implements Redlock, and
// multiplexes the calls of all goroutines onto one connection per master.
//
//	locks, err := engine.New(ctx, engine.Config{Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}})
//	...
//	err = locks.Do(ctx, "invoice:42", 10*time.Second, func(ctx context.Context) error {
//		... // the lock is kept alive meanwhile; ctx ends when it is lost
//	})
//
// Or hold the lock yourself:
//
//	lock, err := locks.Acquire(ctx, "invoice:42", 10*time.Second) // until ctx ends; WithWait bounds the wait alone
//	...
//	defer lock.Release(ctx)
//	err = lock.KeepAlive(time.Hour) // without it the lock lives for 10 s, or as Extend says
//	...
//	for lock.Valid() { // or select on lock.Done(), or work under lock.Context(ctx)
//		...
//	}
//	return lock.Err() // why the lock was lost
//
// # What a lock promises
//
// At most one holder per name is Valid at any moment, as long as:
//
//   - the clocks of masters and clients run at rates within Config.Drift of each other,
//   - no master forgets a key that it granted (see below),
//   - all clients use the same set of masters, and
//   - nothing else writes to the lock's key.
//
// A crashed holder blocks others for at most its ttl (the longest it asked for), or for the rest of a
// lease that was handed over to it. Locks can be acquired while a majority of the masters is up and
// votes; Ready waits for that.
//
// # What it does not promise
//
// A process may be stopped between its last check and its write, and write after its lease has run
// out. No lease of any lock service prevents that. A fence does, if the resource checks it.
//
// FLUSHALL and eviction (maxmemory with any policy but noeviction) lose locks. A restart loses locks,
// too. So a restarted master is sent no acquires for a little longer than MaxTTL (Config.MastersAreDurable,
// Config.MastersAreNew).
//
// A promoted replica is no master: do not point an address at something that fails over.
//
// On Linux the local clock runs on while the machine sleeps. Locks that ran out meanwhile are lost
// at wake-up. On macOS the clock stands still: such a lock seems valid for the time that it had left.
//
// # Life of a lock
//
// A name is any text of 1 to 512 bytes, Config.Prefix included.
//
// Acquire sends SET name token NX PX ttl to all masters. It wins when a quorum, N/2+1, granted the
// lock and validity is left: ttl, less the time since before the first send, less ttl*Drift+2ms. A
// failed attempt is undone on all masters, and repeated with a fresh token. Valid, Err, Done and Context
// go by the local clock alone. Extend and the renewals of KeepAlive move the end of validity out. Release
// deletes the key wherever it still has our token.
//
// A lock is lost, with ErrLost, when:
//
//   - validity runs out (failed renewals are tried again until then),
//   - a majority of the masters answers that the key is gone or another's, or
//   - the engine is closed.
//
// A lost lock never comes back: extend creates no key, and an extend that is answered too late is
// undone. WarnBefore warns before validity ends.
//
// A lock that is held for long regains the masters that lost it: those that were restarted empty, or
// were away for longer than its ttl. After an extend, masters that vote and have no key are asked for
// the lock again, with its token. That is no vote, and moves no validity; the next extend counts it.
// So a lock outlasts the restart of every master, one after another (cmd/muxlock/RUNBOOK.md). Not healed
// are locks younger than a quarter of their ttl, those whose token other processes may know
// (Lock.Reveal, Adopt), and, in package groups, names that move.
//
// # Errors
//
// ErrTaken and ErrNoQuorum of an acquire ask for different things: somebody holds the lock, or too few
// masters answered. Both match ErrNotAcquired. ErrLost: the lock was ours and is no longer. Each error
// says at its name what to do. AttemptError has the votes and each failing master's MasterError.
//
// # Where the rest is
//
//   - Config.Fencing, Lock.Fence and package fence: numbers by which a resource refuses a holder that
//     lost its lock and does not know it yet.
//   - AcquireShared: readers and writers. AcquirePermit: up to so many holders. AcquireAll: all of several
//     names, or none. AcquireMany: each name that is free. Lead: one process does the work for as long as
//     it lives, and then another. Adopt: work begins in one process and ends in another.
//   - engine/README.md: a guide, with code. What to do before production; security. Then in detail:
//     rights (the ACL), servers, fencing, waiting, kinds of locks, Redsync.
//   - cmd/muxlock/RUNBOOK.md: restarts, masters that lost their data, alerts.
//   - Package admin: who holds a lock; forced release; what makes locks on the masters unsafe or slow.
//   - Package groups: more locks than one set of masters takes.
//   - Package enginetest: unit tests with a real engine and no servers. A service that takes an *Engine
//     needs no other double.
//   - Package redsync: Redsync's mutex over an engine.
//   - Config.Measure and lockbench advise: which TTL and timeouts to choose.
//   - Stats, Config.Observer, Logger and Tracer; packages lockprom, lockotel and lockdebug.
package engine
