package advice

import "muxlock/bench"

// Cost is what one lock, acquired and released, takes under the load that was measured: under
// a heavier one more locks share a round, and each takes less.
type Cost struct {
	LocksPerS float64 `json:"locks_per_s"`
	Commands  float64 `json:"commands_per_lock"`      // executed by each master, on average
	ServerNs  float64 `json:"server_cpu_ns_per_lock"` // of all masters together, their background work and probes included
	ClientNs  float64 `json:"client_cpu_ns_per_lock"` // of the caller, at most: with the load generator
}

// costOf is nil unless every master of every result told what it used.
func costOf(results []*bench.Result) *Cost {
	var c Cost
	var locks, seconds, masters float64
	for _, r := range results {
		n := r.AcquiredPerS * r.DurationS
		locks, seconds, masters = locks+n, seconds+r.DurationS, float64(len(r.PerMaster))
		for _, m := range r.PerMaster {
			if m.Used == nil {
				return nil
			}
			c.Commands += float64(m.Used.Commands)
			c.ServerNs += float64(m.Used.CPUNs)
		}
		c.ClientNs += n * r.Client.CPUNsPerOp
	}
	if locks == 0 || seconds == 0 || masters == 0 {
		return nil
	}
	c.LocksPerS = locks / seconds
	c.Commands /= locks * masters
	for _, total := range []*float64{&c.ServerNs, &c.ClientNs} {
		*total /= locks
	}
	return &c
}
