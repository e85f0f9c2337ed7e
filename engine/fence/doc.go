// Package fence is the resource's side of a lock: it refuses the writes of a holder that
// another holder has followed.
//
// A lease cannot stop a process. One that is paused between its last look at the lock and
// its write (by SIGSTOP, the garbage collector, a virtual machine that is moved, a laptop
// that is closed) writes when it goes on, and its lease may have run out long before. So may
// a write that the network held back. The lock service hands out numbers against that: the
// fence of a lock, engine.Lock.Fence, grows strictly from holder to holder of a name. It is
// 1 to Max; 0 means that fencing is off. The number helps only where the resource compares it.
//
// # What the resource has to do
//
//   - It keeps the largest fence that it has seen, one for each lock name, together with the
//     data: compared and written in one atomic step with the data, and lost only with it.
//   - It refuses a smaller fence, with ErrStale. It accepts an equal one: a holder writes more
//     than once.
//   - A new holder seals first: it writes its fence before it reads anything.
//
// Check is the comparison. Three resources that apply it are here: rows of an SQL database
// (Table), a server behind HTTP (Middleware) and a value in Redis (Value). Each has an example;
// that of Table is in sqltest, with a test in which two processes lose an update without it.
//
// # Why seal before read
//
// A counter stands at 10. Both holders compare fences, but only when they write:
//
//	holder A, fence 3   reads 10
//	                    is paused; its lease runs out
//	holder B, fence 4                                  reads 10
//	holder A, fence 3   writes 11: accepted, no 4 seen
//	holder B, fence 4                                  writes 11: accepted
//
// Two increments, one counted, and no error. When B seals before it reads, the resource has
// seen 4 by the time A writes: A gets ErrStale, or A's write came first and B reads it.
//
// # Transactions
//
// A statement that changes no row is no error to the database. Where Seal or Update returns ErrStale in a
// transaction, and the caller logs it and commits, everything else is committed. Table.InTx cannot forget: it
// seals first, and commits only what had no error.
//
// # What a fence does not do
//
// The check and the write must be one step. A server that compares, and writes after a pause
// of its own, has the holder's problem again: compare in the statement, transaction or
// script that writes.
//
// A resource without a memory cannot be fenced: an e-mail, a payment or a motor has nothing
// to compare with. Put one that has a memory in front, for instance a fenced outbox table with one
// sender, or give each effect a key by which its receiver knows a repetition.
//
// A resource that forgets its fence (a restart without disk, a replica that is promoted, a
// deleted row, an old backup) lets older holders write until a newer one has sealed.
//
// The order of one holder's own writes stays its own affair, because an equal fence is accepted: a write
// whose answer was lost may still arrive after the next.
//
// A fence is no secret and no permission: who may write may also send Max and shut out all others.
//
// The rule is that of Chubby's sequencers (Burrows, OSDI 2006) and of Kleppmann, "How to do
// distributed locking" (2016); the seal is Junqueira's, "Note on fencing and distributed
// locks" (2016).
package fence
