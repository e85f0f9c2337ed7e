// Package model is a model checker: it searches every state of small fencing configurations, breadth first. It models the
// masters (as the Lua does), the network (messages arrive late, never, or twice), leases and clocks. It models restarts,
// flushes, copies, swapped databases and old snapshots; the admission of masters; and operators who set up, recover and
// replace. The engine's own functions (internal/fencing) make all decisions.
//
// Three properties must hold in every state. At most one holder has a valid lock on a name. A token that counts is larger
// than all that counted before its attempt began, and no token counts twice, even if clocks are wrong. With leases, the
// fences of successive holders grow.
//
// They hold in every state of 29 configurations, nearly all of three masters and two attempts. There are 54 million states
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
// SWAPDB there and back, with an admission in between, gives a running server an older state of its data. Both rules would
// break then for a client that sleeps meanwhile. A client that meets both marks believes neither, because a mark that
// disappeared no longer counts.
//
// The search assumes that leases run at the same rate everywhere (the wait includes the drift allowance), and that 64-bit
// fingerprints of states differ. It does not cover more than three masters.
//
// # The line
//
// A second model is that of the line (package line, scripts/wait.lua, scripts/pass.lua): waiters join, stay, are granted
// by an answer or a push, give up, hold, extend, raise and pass. Two properties must hold in every state: at most one
// holder has a valid lock, and the fences of successive holders grow. Where clocks are wrong, locks end at any time; then
// a token is larger than all that counted before its place began, and no token counts twice. There are
// 39,887,842 states of three masters together.
//
// The flush of a master leaves out how it is admitted again, which the first model has. TestEachRuleOfTheLineIsNeeded
// leaves out one rule at a time. The search does not show that somebody is served, or in which order.
//
// # Sets and permits
//
// A third model is that of several keys. A set is several names that are taken all or none. A master gets one acquire for all
// names of a set, and a release for each. Three properties must hold in every state. A name has at most one holder. A quorum
// has all names of a set when it is won, and each of them as long as it is held; masters that restarted and wait count, too.
// No key stays whose release was executed or dropped. There are 9,372,230 states of three masters together.
//
// TestEachRuleOfSeveralNamesIsNeeded leaves out one rule at a time. The sets have no fencing: that is about each name alone.
//
// A permit is a slot with a key of its own. A master grants the first free slot of a request. Slots have the properties of
// names, and two more: no more hold than there are permits, and an attempt wins one slot at most. There are
// 6,591,720 states of three masters together.
//
// TestEachRuleOfPermitsIsNeeded leaves out one rule at a time. If each master counted two permits, three masters would have
// six, enough for three holders with two masters each. Extends and fencing are those of any lock.
//
// # Readers and writers
//
// A fourth model is that of readers and writers of one name. A writer's key is a string. The readers' key is a set of
// tokens: each has an expiry by the master's clock, and the key expires with the last of them. A refused writer may set an
// intent, which refuses new readers and grants nothing. Two properties must hold in every state: a writer holds alone, and
// no key stays whose release was executed or whose readers are gone. With fencing, the fences of writers grow; readers have
// none. There are 9,489,898 states of three masters together.
//
// TestEachRuleOfReadersIsNeeded leaves out one rule at a time. Two rules turned out not to be needed, and three of the
// configurations are without them. A reader's acquire may look first and add its token in a second step, as no server adds
// a token to a string; with a key for readers and another for writers, that breaks. And readers may increase registers, as
// long as they have no fences. Masters do not restart with fencing: the first model has their admission. Intents are for
// writers to be served at all. The search does not show that they are.
//
// # Heals
//
// A holder heals: where a master has lost its key, it acquires again, with the same token. All four models have it. A heal is
// a step of a holder whose lease is valid and whose fence counts, at a master that votes and lacks the key. It is freer than
// the engine's: a holder heals at any time, as often as it likes, whatever its extends were answered. A heal is no vote; the
// next extend finds the key and counts it. The properties are those above, and one more: what is over is never held again. No
// extend is a verdict here: "gone" is never more than unknown. Masters restart empty. There are 61,016,248 states of three
// masters together.
//
// One permit has as many states as two writers: a slot is a lock. A set heals each name by itself, so each of its names is a
// lock, too.
//
// TestEachRuleOfHealsIsNeeded leaves out one rule at a time. One was found here: a heal that waits in a queue is not sent if its
// master restarted meanwhile. A fenced master that waits grants nothing, so with fencing a heal may go there.
//
// What waiters do for a holder that heals are steps of the model of the line anyway: a master queues a request though the key
// is free, a token is given up and nobody is granted, and a newcomer may be its owner again, with a fresh token. That is about
// safety. A fifth model is about rest: package line decides when a waiter may be granted, and when it gives back what it was
// granted beside a holder. From each state the line can come to rest: the holder has all masters, or somebody new has a
// quorum once the holder is gone. And a waiter takes a master's key beside a holder once at most, when it is new.
//
// TestEachRuleOfRoomIsNeeded leaves out one rule at a time. No search shows how soon a master is healed: when a heal is tried
// again, when a lease is renewed, and when a waiter asks again is for tests of the engine.
package model
