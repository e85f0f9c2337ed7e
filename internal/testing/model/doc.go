// Package model is a model checker: it searches every state of small fencing configurations, breadth first. It models the
// masters (as the Lua does), the network (messages arrive late, never, or twice), leases and clocks. It models restarts,
// flushes, copies, swapped databases and old snapshots; the admission of masters; and operators who set up, recover and
// replace. The engine's own functions (internal/fencing) make all decisions.
//
// Three properties must hold in every state. At most one holder has a valid lock on a name. A token that counts is larger
// than all that counted before its attempt began, and no token counts twice, even if clocks are wrong. With leases, the
// fences of successive holders grow.
//
// They hold in every state of 27 configurations, nearly all of three masters and two attempts. There are 53 million states
// together; states that differ only in the order of the masters are one. TestRulesHoldInEveryState has each configuration,
// and the number of its states.
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
