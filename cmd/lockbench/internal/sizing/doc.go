// Package sizing holds the arithmetic behind lockbench advise: pure formulae that take
// what was measured and give how long a lease, a timeout or a delay must be, and how
// often it will still be too short.
//
// All times are float64 nanoseconds, as the JSON of a result has them. Symbols:
//
//	N, q     masters, and the quorum of them: quorum.Size(N)
//	T        TTL, the lease
//	rho, c   drift of clocks: rho*T + c of a lease is given up for it
//	Delta    from the first send of the attempt that wins to its quorum
//	R_i      round trip to master i
//	tau      how long one master may take (MasterTimeout)
//	H        how long the lock is held
//	G        a pause of the holder that it does not notice
//	k        contenders: processes that want one name at once
//	D        span of the random delay after a split vote (RetrySplit)
//	lambda   arrivals per ns on one name
//	eps      the probability that is accepted
//
// What the engine itself does (its renewals, its delays, the constants of its allowance for
// clocks) is not repeated here: it comes from package redlock. Only the allowance is written
// once more, for times that are not whole; a test holds the two together.
//
// The formulae, and where they are:
//
//	F1  validity V = T - Delta - (rho*T + c)                         Clocks.Validity
//	F2  quorum latency of independent masters                        AtLeast, Rows.Independent
//	F3  quorum latency from joint round trips, fewer or more masters Rows, Rows.Fastest
//	F4  attempts that a timeout makes fail                           Rows.QuorumTime
//	F5  validity gone at acquire                                     Clocks.LossAtAcquire
//	F6  shortest TTL for a hold                                      Clocks.ShortestBoole, Clocks.Shortest
//	    what stalls a hold meets, and what stands beyond them        Met, Pauses
//	F7  loss with renewals, and to outages that last                 Renewal, Rows.Outages
//	F8  longest hold without renewal                                 Clocks.LongestHold
//	F9  drift that the clocks need, and their daemons                DriftNeeded, TimeDaemons
//	F10 hand-over gap of polling waiters                             Polling.Gap
//	F11 waiting time in an open loop                                 Queue
//	F12 throughput of a closed loop                                  ClosedLoop
//	F13 split votes, at once and spread                              SplitAtOnce, SplitArea
//	F14 the best spread                                              BestSpread
//	F15 restarted masters stay out until nothing is left to forget   redlock.RestartWait
//	F17 intervals and how far samples carry                          ClopperPearson, RankInterval, Blocks, Law.Reaches
//	F18 all of it together                                           Together
//	F19 availability of masters in zones                             Unavailable
//
// Sources: the Redlock algorithm as redis.io gives it (F1); David and Nagaraja, Order
// Statistics (F2); Hosking and Wallis 1987 (tails); Pollaczek-Khinchine and Kingman 1962
// and 1982 (F11); Reiser and Lavenberg 1980 (F12); Clopper and Pearson 1934 (F17). What
// no other name stands beside is derived in the comment on its function.
package sizing
