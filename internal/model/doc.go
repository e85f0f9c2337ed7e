// Package model searches every state of small configurations of fencing, breadth first: the
// masters (what the Lua does), the network (what is sent arrives late, never, or twice), leases
// and clocks, restarts and flushes, the admission of masters, setting up and replacing one. What
// is decided is decided by the engine's own functions (internal/fencing).
//
// In every state one at most may rely on the lock of a name. A token that counts is larger than
// all that counted before its attempt began, and no token counts twice, even where clocks are
// wrong. With leases the fences of successive holders grow.
//
// What holds in every state, for three masters and two attempts, and how many states that is,
// those that differ in the order of masters taken for one (25,872,848 together):
//
//	no clock, locks end at any time                 3,186,140
//	hints of any size                               1,196,528
//	two names share a register                      2,123,016
//	an extend or raise is executed twice            1,600,698
//	leases                                          1,571,200
//	leases are handed over                            530,070
//	leases are extended                             2,115,734
//	an acquire is executed twice                      569,890
//	a master's clock jumps: tokens only             2,410,350
//	a master restarts empty                         2,429,488
//	masters restart empty twice                     1,602,044
//	one restarts empty, leases are extended         2,030,459
//	a master restarts with old data                   329,037
//	a flush between two admitters                   1,602,425
//	a master is flushed                               248,979
//	a member is replaced                              784,770
//	what is set up is set up again                    111,366
//	set-up is cut and repeated, old data              619,354
//	set-up is cut and repeated, a restart empties     811,300
//
// TestEachRuleIsNeeded leaves one rule out at a time, and shows with -v the shortest way to what
// breaks then. Two of these are what the rest of the program must see to:
//
//   - A master executes an acquire once at most, or tokens hang on clocks: a lock that was lost
//     and is taken again by the same acquire lets a raise count that does not (no clock, an
//     acquire is executed twice).
//   - A master that was restarted is admitted by engines only, never by setting it up again.
//
// What is assumed and not searched: that leases run at the same rate everywhere (the wait has
// the allowance for drift), 64 bits of fingerprint for a state, and more than three masters.
package model
