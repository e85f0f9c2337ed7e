// Package model is a model checker: it searches every state of small fencing configurations, breadth first. It models the
// masters (as the Lua does), the network (messages arrive late, never, or twice), leases and clocks. It models restarts,
// flushes, copies, swapped databases and old snapshots; the admission of masters; and operators who set up, recover and
// replace. The engine's own functions (internal/fencing) make all decisions.
//
// Three properties must hold in every state. At most one holder has a valid lock on a name. A token that counts is larger
// than all that counted before its attempt began, and no token counts twice, even if clocks are wrong. With leases, the
// fences of successive holders grow.
//
// They hold in every state of these configurations of three masters and two attempts. The figure is the number of states;
// states that differ only in the order of the masters are one (53,302,117 together):
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
// TestEachRuleIsNeeded leaves out one rule at a time. With -v it prints the shortest trace to a broken property. Two rules
// are up to the rest of the program:
//
//   - A master executes an acquire at most once. Otherwise tokens depend on clocks: the same acquire takes a lost lock
//     again, and a raise then counts that must not (no clock, an acquire is executed twice).
//   - Only engines admit a restarted master; setting it up again never does.
//
// Both would also break if a server gets an older state of its own data back and keeps running, while a client sleeps and
// sees nothing of it: SWAPDB there and back, with an admission in between. A client that meets both marks believes
// neither, because a mark that disappeared no longer counts.
//
// The search assumes that leases run at the same rate everywhere (the wait includes the drift allowance), and that 64-bit
// fingerprints of states differ. It does not cover more than three masters.
package model
