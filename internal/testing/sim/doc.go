// Package sim plays schedules of faults: engines, and clients as Redsync is, on masters in this process,
// in a testing/synctest bubble of virtual time. It holds what they do against what package engine
// promises.
//
//	Draw(seed)   who takes part, and a list of faults (schedule, faults)
//	Run          a world: masters, links, engines; callers that use every verb (world, verbs, stranger)
//	             an audit of it
//	Shrink       drops the faults that do not matter
//
// A schedule has one to three acts. In each, callers use the engines while things fail. Then a bare majority
// serves, and the calls must end. Then, a dead-peer time later, no lock may be left.
//
// What is audited:
//
//   - No two rely on a name at one moment. A hold begins when the call returned the lock, and ends with
//     Release, Done, or the end of validity, whichever comes first. ForceRelease ends what it found.
//   - Fences grow from hold to hold.
//   - Each key that is left on a master at the end of an act is an orphan, but of an engine that crashed, and
//     on a master that got old data back or was a copy. Leases outlast the audit, so that it sees them.
//   - Half a minute after the last call no master has a key of a line.
//   - Every call ends, at the latest when a majority serves again and what they wait for is over. Those that wait
//     for nobody end within four timeouts of a master, whatever fails.
//   - Errors are those that package engine has for faults.
//   - At rest no engine has a lock, a call, or a release that is pending. No goroutine outlives Close. The memory of
//     this process does not grow from schedule to schedule.
//
// What is off, and why: faultKinds says that of each fault. An engine is paused as far as its connections
// are: virtual time cannot stop some goroutines and not others. All engines read one clock, that of the
// bubble; the masters' run at their own rates.
//
// A seed fixes the schedule and what every caller asks for, each with numbers of its own. It does not fix the
// order of goroutines that are ready at the same time, nor the engines' jitter and tokens. So runs of a seed differ
// in what their calls meet. A failure that is repeated once in three runs can be shrunk.
//
// A new verb is an entry of verbs, a new fault one of faultKinds.
package sim
