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
// a token is larger than all that counted before its place began, and no token counts twice. These are all states of
// three masters (39,887,842 together):
//
//	two wait                                                                 343,880
//	two wait and stay                                                      1,501,305
//	one asks as without a line                                                58,481
//	three, no time passes                                                    557,900
//	a holder and two in line                                                   6,806
//	a holder and two in line, who stay                                     1,339,604
//	a holder, one in line and a newcomer                                      26,128
//	a holder, one in line and one without a line                              87,988
//	leases are extended                                                        3,857
//	masters' clocks step                                                     134,643
//	a master restarts empty                                                  109,126
//	a master restarts empty, with a newcomer                                  43,800
//	a master restarts with old data                                        6,298,835
//	three wait                                                               325,606
//	three wait, none has begun                                             1,629,902
//	leases are extended, with a newcomer                                     773,263
//	a master restarts empty, longer leases                                 1,779,300
//	fenced, two wait and stay                                              5,213,169
//	fenced, a holder, one in line and a newcomer, locks end at any time    3,646,873
//	two wait and stay, longer leases                                       9,515,929
//	fenced, two wait                                                         671,058
//	fenced, a holder and two in line                                          57,152
//	fenced, a holder, one in line and one without a line                   3,845,384
//	fenced, locks end at any time                                            865,255
//	fenced, a master restarts empty                                          426,509
//	fenced, a master is flushed                                              626,089
//
// The flush of a master leaves out how it is admitted again, which the first model has. TestEachRuleOfTheLineIsNeeded
// leaves out one rule at a time. The search does not show that somebody is served, or in which order.
//
// # Sets and permits
//
// A third model is that of several keys. A set is several names that are taken all or none. A master gets one acquire for all
// names of a set, and a release for each. Three properties must hold in every state. A name has at most one holder. A quorum
// has all names of a set when it is won, and each of them as long as it is held; masters that restarted and wait count, too.
// No key stays whose release was executed or dropped. These are all states of three masters (9,372,230 together); a and b are
// a set, and so are b and c:
//
//	two sets, longer leases                                                  154,977
//	two sets, dropped unsent                                                  69,921
//	two sets, connections break                                              251,190
//	two sets are extended                                                    283,896
//	a master restarts empty                                                   92,205
//	a master restarts empty, longer leases                                   274,766
//	two sets and a single name, no time passes                               281,943
//	a set twice, connections break, dropped unsent                           372,528
//	a set and a single name are extended                                     429,078
//	two sets and a single name                                               563,886
//	a set and a single name are extended, a master restarts empty            835,798
//	a set twice, and another                                                 915,250
//	three sets, each meets both others                                     1,368,852
//	two sets and a single name, a master restarts empty                    1,451,749
//	a master restarts empty, connections break, dropped unsent             2,026,191
//
// TestEachRuleOfSeveralNamesIsNeeded leaves out one rule at a time. The sets have no fencing: that is about each name alone.
//
// A permit is a slot with a key of its own. A master grants the first free slot of a request. Slots have the properties of
// names, and two more: no more hold than there are permits, and an attempt wins one slot at most. These are all states of
// three masters (6,591,720 together):
//
//	two attempts, two permits                                                 8,982
//	longer leases                                                            79,152
//	three attempts, one permit, a master restarts empty                     148,875
//	a master restarts empty                                                 174,420
//	connections break                                                       209,601
//	three attempts, two permits, one order                                  368,466
//	dropped unsent                                                          483,957
//	three attempts, two permits, no time passes                             635,415
//	three attempts, two permits, a master restarts empty                  1,005,699
//	three attempts, two permits                                           1,270,830
//	three attempts, three permits, each asks for two                      2,206,323
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
// none. These are all states of three masters (9,489,898 together):
//
//	a reader and a writer, longer leases                                       9,679
//	a reader's lease is joined                                                38,490
//	a master restarts empty                                                   91,060
//	connections break                                                         96,727
//	three readers, and some run out                                          104,264
//	two readers are extended, a master restarts empty                        120,851
//	two readers and a writer, with intents                                   123,474
//	fenced, a reader and two writers                                         125,870
//	leases of three ticks are extended                                       137,231
//	fenced, a reader and a writer are extended                               142,604
//	a reader is added in two steps, connections break                        159,239
//	two readers and a writer                                                 177,751
//	two readers and a writer, a master restarts empty                        180,181
//	a reader and two writers, with intents                                   226,292
//	two readers and a writer, with longer leases and intents                 328,151
//	two readers and a writer, with intents, a master restarts empty          333,095
//	two readers and a writer, longer leases, a master restarts empty         354,710
//	two readers are added in two steps                                       396,026
//	three ticks, a master restarts empty                                     398,739
//	fenced, a reader and two writers, registers apart                        407,071
//	fenced, two readers and a writer, registers apart                        413,021
//	masters restart empty twice, connections break                           611,722
//	fenced, registers increase for readers, too                              682,377
//	two readers and a writer, with intents, connections break                729,206
//	two readers and a writer, all leases longer                              856,674
//	two readers and a writer are extended                                  1,079,240
//	two readers and two writers, no time passes                            1,166,153
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
// extend is a verdict here: "gone" is never more than unknown. Masters restart empty. These are all states of three masters
// (61,016,248 together):
//
// Locks, and readers and writers (25,629,400):
//
//	heals are queued, a master restarts, connections break                     7,486
//	a revealed token, a master restarts, connections break                   215,480
//	two writers                                                              103,964
//	two writers, a master restarts                                           295,487
//	a reader and a writer, a master restarts                                 324,421
//	a reader and a writer, with intents, a master restarts                   151,560
//	two writers, a master restarts, connections break                      1,659,201
//	two writers, masters restart twice                                     1,677,175
//	a reader and a writer, a master restarts, connections break            1,826,214
//	three writers, a master restarts                                       3,155,602
//	three writers, one with a longer lease, a master restarts              5,324,094
//	three writers, longer leases, a master restarts                       10,084,697
//	a reader heals for a shorter time, a master restarts                     327,844
//	fenced, two writers                                                      476,175
//
// Sets and permits (6,112,101):
//
//	a set of two names, a master restarts                                     97,143
//	a set of two names and one of them, a master restarts                  1,351,057
//	a set of two names and one of them, longer leases                      3,789,597
//	one permit, a master restarts                                            295,487
//	two permits, a master restarts                                           578,817
//
// Fences (11,708,073):
//
//	fenced leases                                                          1,413,180
//	fenced, a master restarts                                              2,842,956
//	fenced, a master is flushed                                            7,451,937
//
// The line (17,566,674):
//
//	a holder and one in line                                                  18,485
//	a holder and one in line, a master restarts                               46,123
//	a holder and two in line, a master restarts                              128,944
//	a holder and one in line, masters restart twice, extended twice          236,477
//	a holder, one in line and a newcomer, a master restarts                  398,169
//	a holder and two in line, longer leases, a master restarts             1,174,359
//	a holder, one in line and one without a line, a master restarts        2,665,232
//	a holder, one in line and a newcomer, longer leases                    3,721,137
//	fenced, a holder and one in line                                          28,157
//	fenced, a holder and one in line, masters restart twice, extended twice  410,425
//	fenced, a holder, one in line and a newcomer, a master restarts        4,335,074
//	fenced, a holder, one in line and one without a line, a flush          4,404,092
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
// quorum once the holder is gone. And a waiter takes a master's key beside a holder once at most, when it is new. Its states:
//
//	a holder and one waiter                                                       98
//	a holder and two waiters                                                  12,161
//	the holder is gone, one waiter                                               347
//	the holder is gone, two waiters                                          279,738
//
// TestEachRuleOfRoomIsNeeded leaves out one rule at a time. No search shows how soon a master is healed: when a heal is tried
// again, when a lease is renewed, and when a waiter asks again is for tests of the engine.
package model
