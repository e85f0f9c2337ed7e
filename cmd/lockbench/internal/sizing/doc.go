// Package sizing computes TTL, timeouts and delays for an engine. Size takes the Measured times
// and the user's Ask, and returns Sizes. It is pure. An interval takes one more call of Size for
// each redraw of the measurement.
//
// # Rules
//
// Each part is seen, given or assumed; none is a fitted curve. There are N masters with quorum
// q. T is the TTL. rho and c are the allowance for clocks: T*(1-rho) - c of a lease is usable.
//
//	quantile       an order statistic with ten samples or more beyond it; else the longest time.
//	               The share of longer times has the 95 % bound of Clopper and Pearson: 3/n if
//	               none of n is longer. It is then "not seen in n". A time that outlasted the
//	               measurement is censored: it counts as longer than all others.
//	quorum         the q-th answer to a probe of all masters. A stall of the client delays all
//	               answers of a probe, so the answers are not taken for independent.
//	MasterTimeout  twice a quorum's p99.9, p99 or p90 (the farthest the samples show), or twice
//	               the median trip to the farthest master: a quorum needs it while as many are
//	               down as can be spared. At most a tenth of the RTO, but at least 50ms and twice
//	               the median of a quorum.
//	acquire        a winning attempt takes at most MasterTimeout, since the engine then gives up.
//	               Fencing doubles that; shared names add the time of a hand-over, the default or
//	               the longest seen. The engine extends a lease first of which less than half is
//	               left, so half of it is the most. A quorum never comes too late for its lease.
//	pause          the most time that pauses took from a stretch of work of this length, plus the
//	               longest pause; or --pause, if that is longer. Pauses that are not among the
//	               longest, which alone are kept one by one, count as twice their share of the time.
//	hold           the quantile of --eps. A lock that a process has not released is censored. Of a process's longest holds and hand-overs, the pauses in
//	               them are left out. A test hold ends at a fixed time, so it has at most the end
//	               of a pause.
//	TTL            T*(1-rho) - c >= acquire + hold + pause.
//	               If the RTO does not allow that, locks are renewed, unless that takes a longer
//	               TTL. One renewal bounds the pause then, however long the hold:
//	               T*(1-rho-1/3-1/24) - c >= 2*quorum + max(pause, outage, MasterTimeout)
//	               A lease counts from when its renewal was sent; the next one is due T/3 after
//	               the answer, and if it fails is retried after T/24. After a late acquire the
//	               first renewal is due at once:
//	               T*(1-rho-1/24) - c >= acquire + quorum + max(pause, outage, MasterTimeout)
//	               outage is twice the longest time without a quorum, plus the time until the
//	               masters are dialled again.
//	longest TTL    (RTO - the longest RetryHeld - quorum - jump)/(1+rho) - 1ms: a crashed holder's
//	               key expires by a slow clock, which may step back by the longest jump seen. Then
//	               the next caller polls and acquires; with fencing, in up to two quorums.
//	MaxTTL         the longest TTL, or the engine's default if that is shorter; at least T. A
//	               restarted master has no vote for that time.
//	Drift          the engine's default, or the difference between the rates of two clocks if
//	               that is larger; plus the jumps seen, as a share of T. Since it is below 0.5, T
//	               is at least jump/(0.49-rho).
//	RetryHeld      the delay at which waiters without a wake-up leave the lock free for a tenth
//	               of the mean hold (HeldGap); from 2ms and ten round trips to 250ms. It is shorter
//	               if the RTO would be missed else, or locks be renewed only for it.
//	RetrySplit     the span with the shortest mean time to a decided vote (BestSpread). Each two
//	               probes in a row show how far apart two callers split their vote.
//	lost           longer holds, and pauses longer than any in the watched time L. With 95 %, at
//	               most 3/L such pauses come, so a mean hold of h meets one with probability
//	               1 - exp(-3h/L) at most. This is a bound on the unseen, not an estimate.
//	interval       95 %, from redraws of the measurement: single holds, and blocks of probes, which
//	               keep their correlation. A simulation in the tests shows the coverage. A size
//	               decided by a constant or by the longest time has no interval: no redraw
//	               exceeds that time.
//
// Package redlock has the engine's renewals, delays and allowance for clocks. Sources: redis.io
// on Redlock; Clopper and Pearson 1934; Künsch 1989 (block bootstrap). All other rules are
// derived in the comments of their functions.
package sizing
