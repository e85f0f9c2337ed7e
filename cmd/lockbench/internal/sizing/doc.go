// Package sizing computes TTL, MaxTTL and MasterTimeout for an engine. Size takes the Measured times
// and the user's Ask, and returns Sizes. It is pure.
//
// # Rules
//
// T is the TTL. rho and c are the allowance for clocks: T*(1-rho) - c of a lease is usable.
//
//	T              the largest of 1, 1.5, 2, 3, 5, 7 times a power of ten that --rto allows, up to the
//	               MaxTTL in use; 10 s without --rto; more if more is needed.
//	allowed        (RTO - the longest delay of a waiter - acquire)/(1+rho) - 1ms: a crashed holder's
//	               key expires by a slow clock.
//	needed         T*(1-rho) - c >= acquire + hold + pause, each the longest that was seen.
//	               If that is longer than allowed, or than MaxTTL, locks are renewed, unless that takes a
//	               longer TTL. However long the hold, T depends on one renewal then:
//	               T*(1/2-1/24) >= quorum + max(pause, outage, MasterTimeout)
//	               A renewal is sent when half of the lease is left, at the latest, and if it
//	               fails again after T/24. Usually it is sent after T/3. But after a pause its answer
//	               is seen late, and then the next pause may come before the next renewal.
//	acquire        MasterTimeout, since the engine then gives up. Fencing doubles that. Names shared in a
//	               process add the time of a hand-over, the default or the longest seen. The engine extends
//	               a lease first of which less than half is left, so half of it is the most.
//	hold           the longest, of 10,000 draws from a distribution. A lock that was not released counts as
//	               held for longer than all others. The pauses in a process's longest holds are left out,
//	               since they are added.
//	pause          the most time that pauses took from so long an acquire and hold. Of renewed locks the
//	               longest pause. Or --pause, if that is longer.
//	outage         the longest time without a quorum and until the masters are dialled again, with
//	               the pauses beside it.
//	MasterTimeout  twice a quorum's p99.9, p99 or p90 (the farthest the samples show), without the
//	               holder's pauses; or twice the median trip to the farthest master: a quorum needs it while
//	               as many are down as can be spared. At most a tenth of the TTL that is asked for, but at
//	               least 50ms and twice the median of a quorum.
//	MaxTTL         as in use, or T if that is longer.
//	Drift          the engine's default, rho = 0.01. Clocks whose rates, and jumps as a share of T, differ by
//	               more are to be mended.
//	replay         10,000 locks at places all over the measurement, with its holds and pauses. T is advised
//	               if fewer than 1 % are lost.
//	bounds         95 %, on what was not seen: of n holds by Clopper and Pearson (3/n if none of n is too
//	               long), of pauses and outages as random events (3 in the watched time if none was seen).
//
// A simulation in the tests holds each printed number against some thirty worlds. Package redlock has the
// engine's renewals, delays and allowance for clocks.
package sizing
