// Package validation holds the formulae of package sizing against what happens: each
// case sets up masters on this machine, late as the case wants, lets the engine or a rival
// lock on them, and asks whether what was predicted was measured.
//
//	quorum   F2, F3  how long an acquire takes, from round trips alone
//	expiry   F5, F8  how often a short lease is gone when the quorum comes, or before the
//	                 longest hold that is advised is over
//	split    F13     how often callers at once split the vote
//	gap      F10     how long a lock lies free before a polling waiter looks
//	queue    F11     how long an open loop waits for one name
//	closed   F12     what a closed loop reaches on one name
//	advice   F4, F6  what the advised lease, half and a quarter of the least lose to stalls
//	                 of all masters, a slow fork of one, a client that is paused, and holds
//	                 of two lengths, F5 included
//	outage   F7      what renewed leases lose to an outage of all masters
//
// The last two measure, have package advice advise on that, and hold its leases under the
// same again, with its MasterTimeout; what is predicted is what the advice says of them.
//
// A case is two parts. One measures, in real time, and knows no formula. The other takes
// the samples and makes Checks of them; it is pure, and its tests give it worlds in which
// the formula is wrong.
//
// # Verdicts
//
// An interval holds the truth with 99.9 %, so that of some sixty checks of what is true
// one is outside in six runs of a hundred at most. A prediction is outside only where its
// interval, widened by what its formula leaves out on purpose, does not meet that of what
// was measured. A machine that stands still in between makes predictions fail that assume
// it does not: the stall beside each check shows it.
package validation
