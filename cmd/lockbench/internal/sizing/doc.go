// Package sizing says which TTL, timeouts and delays to give an engine: Size takes what was
// Measured and what the user Asks for, and returns Sizes. It is pure, and called once more for
// each redraw of the measurement that an interval is made of.
//
// # Rules
//
// Each part is seen, given or assumed; none is a fitted curve. N masters, q the quorum of them,
// T the TTL, rho and c the allowance for clocks: of a lease T*(1-rho) - c can be used.
//
//	quantile       an order statistic, with ten samples or more beyond it; else the longest
//	               that was seen. The share that is longer is at most what Clopper and Pearson
//	               give with 95 %: 3/n where none of n was. Beyond that it was "not seen in n".
//	               What had not ended when the measurement did counts as longer than all.
//	quorum         the q-th of the answers to a probe of all masters; stalls of the client are in
//	               all answers of a probe, so nothing is taken for independent.
//	MasterTimeout  twice a quorum's p99.9, p99 or p90 (what the samples show), or twice its median
//	               without the master that is missed most; from 50ms to a tenth of the RTO.
//	acquire        a winning attempt uses up at most MasterTimeout, since the engine gives it up
//	               then; twice that with fencing, and the time of a hand-over where names are
//	               shared. So a quorum never comes too late for its lease.
//	pause          the most that pauses of the holder took from such a stretch of work anywhere
//	               in the measurement, and the longest of them once more; or --pause, if that
//	               is longer.
//	TTL            T*(1-rho) - c >= acquire + hold + pause, where hold is the quantile of --eps.
//	               Where that is longer than the RTO allows, locks are renewed, and the pause is
//	               what one renewal can meet, however long the hold:
//	               T*(1-rho-1/3-1/24) - c >= quorum + max(pause, outage, MasterTimeout)
//	               a renewal comes 1/3 of T after the last one was confirmed, and one that failed
//	               is tried again after 1/24. outage: twice the longest time without a quorum,
//	               and until its masters are dialled again.
//	longest TTL    (RTO - the longest RetryHeld - acquire)/(1+rho) - 1ms: a crashed holder's key
//	               expires by a slow clock, then the next one looks, and acquires.
//	MaxTTL         the longest TTL. A restarted master has no vote for as long.
//	Drift          the default of the engine, unless the rates of two clocks differ by more;
//	               jumps that were seen are added.
//	RetryHeld      at which waiters that nobody wakes leave the lock free for a tenth of the
//	               time (HeldGap); from 2ms and ten round trips to 250ms.
//	RetrySplit     the span that makes the mean time to a decided vote shortest (BestSpread).
//	lost           holds that are longer, and pauses that are longer than any in a time L: at
//	               most 3/L of them come, with 95 %, so a hold of h on average meets one with at most
//	               1 - exp(-3h/L). This is a bound of what was not seen, not an estimate.
//	interval       95 %, from redraws of the measurement: holds one by one, probes in stretches,
//	               so that what happens together stays together. A simulation in the tests
//	               shows that they cover. There is none of what a constant decides, or the
//	               longest value that was seen, which no redraw exceeds.
//
// What the engine itself does (renewals, delays, the allowance for clocks) comes from package
// redlock. Sources: redis.io on Redlock; Clopper and Pearson 1934; Künsch 1989 (redraws in
// stretches). What no name stands beside is derived in the comment on its function.
package sizing
