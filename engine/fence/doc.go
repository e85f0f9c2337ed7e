// Package fence is the resource's side of a lock: it refuses the writes of a holder once another
// holder has followed.
//
// A lease cannot stop a process. A process may be paused between its last check of the lock and its
// write: by SIGSTOP, the garbage collector, the move of a virtual machine, a closed laptop. It
// writes when it goes on, and its lease may have run out long before. A write that the network held
// back may arrive as late. Against that a lock has a number, its fence (engine.Lock.Fence). The
// fence grows strictly from holder to holder of a name. It is 1 to Max; 0 means that fencing is off. It
// helps only where the resource compares it.
//
// # What the resource has to do
//
//   - It keeps the largest fence that it has seen, one for each lock name, together with the
//     data. It compares and writes both in one atomic step, and loses the fence only with the data.
//   - It refuses a smaller fence, with ErrStale. It accepts an equal one: a holder writes more
//     than once.
//   - A new holder seals first: it writes its fence before it reads anything.
//
// Check is the comparison. Three resources apply it here: rows of an SQL database (Table), a server
// behind HTTP (Middleware) and a value in Redis (Value). Each has an example. That of Table is in
// sqltest, beside a test in which two processes lose an update without it.
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
// A statement that changes no row is no error to the database. If Seal or Update returns ErrStale in a
// transaction, and the caller logs it and commits, everything else is committed. Table.InTx cannot forget: it
// seals first, and commits only if nothing failed.
//
// # What a fence does not do
//
// The check and the write must be one step. A server that compares, pauses and then writes has the
// holder's problem again. Compare in the statement, transaction or script that writes.
//
// A resource without a memory cannot be fenced: an e-mail, a payment or a motor has nothing to
// compare with. Put a resource with a memory in front, for instance a fenced outbox table with one
// sender. Or give each effect a key by which its receiver knows a repetition.
//
// A resource may forget its fence: by a restart without disk, a promoted replica, a deleted row, an
// old backup. It then lets older holders write until a newer one has sealed.
//
// A holder orders its own writes itself, because an equal fence is accepted: a write whose answer was
// lost may still arrive after the next.
//
// A fence is no secret and no permission: whoever may write may also send Max and shut out all others.
//
// # A half-upgraded fleet
//
// A running fleet gets fences in three phases. Clients with and without them exclude each other in all three.
//
//  1. The masters are set up (muxlock masters init), and the resource gets a place for the fence. No client sends
//     one. Nothing is fenced.
//  2. Engines get Config.Fencing, and their holders seal. The resource keeps fences, and serves clients without one.
//     A fenced holder is refused once a later fenced one has sealed; nobody else is. A late write without a fence
//     passes. A late fenced one passes, too, if only holders without a fence have followed.
//  3. No process without Config.Fencing is left. The resource refuses whoever has no fence, and every holder is fenced.
//
// How each resource serves both:
//
//   - Table: add the column with DEFAULT 0 in phase 1. An UPDATE without a fence compares nothing and leaves the
//     fence as it is. If an old client replaces a row (REPLACE, or DELETE and INSERT), its fence begins at 0 again:
//     change that client first. For phase 3 give fenced clients another database user, and take UPDATE, INSERT and
//     DELETE from the old one.
//   - Middleware refuses a request without Header with 428: that is phase 3. In phase 2 such requests go past it, as
//     in the example of FromHeader. They do not wait for the others, nor the others for them.
//   - Value is a hash. GET fails on it, and SET replaces it, with its fence. So in phase 1 all clients change to a new key,
//     with HGET and HSET of its field value, which leave the fence as it is. For phase 3 take the key from the old clients'
//     ACL user.
//
// Lock.Fence is 0 where the engine has no Config.Fencing, and for an adopted lock. SetHeader, Table and Value refuse it
// with ErrInvalid in every phase.
//
// # The largest fence that was seen
//
// After a majority of the masters has lost its data, muxlock masters init --recover --above FENCE asks for this
// number. It is the largest of all resources and all lock names:
//
//	Table     SELECT MAX(fence) FROM accounts, of each fenced table; NULL if it has no rows
//	Value     HGET key fence, of each key
//	Store     what it keeps; that of a Memory is lost with the process
//	others    Header in the log of the server, or Lock.Fence in that of the holders
//
// If a resource cannot be read, its refusal has the number: a server behind Middleware answers a GET with fence 1 by
// "1 came, 4 was seen".
//
// After too small a number the resources refuse new holders and accept old ones. A larger one costs only room below Max:
// 4503599627370496, half of Max, leaves a name 6.8e10 locks. Use it where fences were lost, unless an earlier recovery
// has used it.
//
// # Sources
//
// The rule is that of Chubby's sequencers (Burrows, OSDI 2006) and of Kleppmann, "How to do
// distributed locking" (2016); the seal is Junqueira's, "Note on fencing and distributed
// locks" (2016).
package fence
