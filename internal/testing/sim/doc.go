// Package sim plays schedules of faults, in a testing/synctest bubble of virtual time. Engines, and clients
// that work as Redsync does, use masters in this process. The package checks the promises of package engine.
//
//	Draw(seed)   who takes part, and a list of faults (schedule, faults)
//	Run          a world: masters, links, engines; callers that use every verb (world, verbs, stranger)
//	             a roll in some: masters fail one after another, under locks that are kept (roll)
//	             an audit of it
//	Shrink       drops the faults that do not matter
//
// A schedule has one to three acts. In each, callers use the engines while things fail. Then a bare majority
// serves, and the calls must end. Then, a dead-peer time later, no lock may be left. The last act of every fifth schedule is
// a roll: each master is restarted, or is away for longer than a ttl, one after another, each when all vote and have all kept
// locks.
//
// What is audited:
//
//   - No two rely on a name at one moment. A hold begins when the call returned the lock, and ends with
//     Release, Done, or the end of validity, whichever comes first. ForceRelease ends what it found.
//   - Fences grow from hold to hold.
//   - A kept lock is lost in a roll only if its engine was away, or a majority of masters was at once. When all masters vote,
//     they soon have all kept locks.
//   - A key left on a master at the end of an act is an orphan. Exceptions are keys of an engine that crashed, and
//     keys on a master that got old data back or was a copy. Leases outlast the audit, so no orphan has expired.
//   - Soon after the last call no master has a key of a line.
//   - Every call ends, at the latest when a majority serves again and the leases it waits for are over. A call that
//     waits for nobody ends within four timeouts of a master, whatever fails.
//   - Errors are those that package engine has for faults.
//   - At rest no engine has a lock, a call, or a release that is pending. No goroutine outlives Close. The memory of
//     this process does not grow from schedule to schedule.
//
// faultKinds says which faults are off, and why. To pause an engine is to pause its connections: virtual time
// cannot stop some goroutines and not others. All engines read the clock of the bubble. The masters' clocks run
// at their own rates.
//
// A seed fixes the schedule and the requests of every caller: each draws from random numbers of its own. A seed
// does not fix the order of goroutines that are ready at the same time, nor the engines' jitter and tokens. So the
// calls of two runs of a seed meet different things. A failure that occurs in one of three runs can be shrunk.
//
// A new verb is an entry of verbs, a new fault one of faultKinds. A fault is in rolls if its entry says so.
package sim
