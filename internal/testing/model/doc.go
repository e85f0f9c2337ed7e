// Package model searches every state of small configurations of fencing, breadth first: the
// masters (what the Lua does), the network (what is sent arrives late, never, or twice), leases
// and clocks; restarts, flushes, copies, swapped databases and old snapshots; the admission of
// masters, and operators who set up, recover and replace. What is decided is decided by the engine's own
// functions (internal/fencing).
//
// In every state one at most may rely on the lock of a name. A token that counts is larger than
// all that counted before its attempt began, and no token counts twice, even where clocks are
// wrong. With leases the fences of successive holders grow.
//
// What holds in every state, for three masters and two attempts, and how many states that is,
// those that differ in the order of masters taken for one (53,302,117 together):
//
//	no clock, locks end at any time                       3,186,140
//	hints of any size                                     1,196,528
//	two names share a register                            2,123,016
//	an extend or raise is executed twice                  1,600,698
//	leases                                                1,571,200
//	leases are handed over                                  530,070
//	leases are extended                                   2,115,734
//	an acquire is executed twice                            569,890
//	a master's clock jumps: tokens only                   2,410,350
//	a master restarts empty                               2,429,488
//	masters restart empty twice                           1,747,217
//	one restarts empty, leases are extended               2,030,459
//	a master restarts with old data                       2,719,634
//	a flush between two admitters                         1,064,734
//	a master is flushed                                     248,979
//	a member is replaced                                    732,654
//	a member is replaced, a lock is adopted               1,772,335
//	a master is a copy of another                         2,417,210
//	durable masters restart                                 265,580
//	a durable master is a copy of another, and restarts   2,685,535
//	registers are deleted                                 1,710,060
//	databases are swapped, and back                       1,558,560
//	what is set up is set up again                          367,769
//	set-up is cut and repeated, old data                  6,781,196
//	set-up is cut and repeated, a restart empties           342,332
//	two set masters up                                    5,449,027
//	a majority is recovered                               3,675,722
//
// TestEachRuleIsNeeded leaves one rule out at a time, and shows with -v the shortest way to what
// breaks then. Two of these are what the rest of the program must see to:
//
//   - A master executes an acquire once at most, or tokens hang on clocks: a lock that was lost
//     and is taken again by the same acquire lets a raise count that does not (no clock, an
//     acquire is executed twice).
//   - A master that was restarted is admitted by engines only, never by setting it up again.
//
// Both would also break where a server gets an older state of its own data back, and keeps running,
// while a client that has seen nothing of it sleeps: SWAPDB there and back, with an admission in
// between. The client that meets both marks believes none of them (a mark that went away).
//
// What is assumed and not searched: that leases run at the same rate everywhere (the wait has
// the allowance for drift), 64 bits of fingerprint for a state, and more than three masters.
package model
