package probe

import (
	"slices"
	"time"

	"muxlock/internal/quorum"
	"muxlock/internal/stats"
	"muxlock/internal/wallclock"
)

// Report has what a Prober saw.
type Report struct {
	Length  time.Duration // of the probing
	Rows    []Row         // in order
	Masters []Master      // in the order of Open
}

// Row has one probe of every master.
type Row = quorum.Row

// Master has the probes of one master.
type Master struct {
	Addr string     `json:"addr"`       // without any password
	RTT  RoundTrips `json:"rtt"`        // of its answers
	Lost int64      `json:"lost"`       // probes without an answer in time
	Down float64    `json:"down_share"` // share of the probing between an unanswered probe and the answer to a later one
	// Clock compares its wall clock with the monotonic clock here. It is absent after too few
	// answers, or where the ACL forbids TIME.
	Clock *wallclock.Clock `json:"clock,omitempty"`
}

// RoundTrips summarizes round trips.
type RoundTrips struct {
	Unit  string                   `json:"unit"` // ns
	Count int                      `json:"count"`
	Min   time.Duration            `json:"min"`
	Mean  float64                  `json:"mean"`
	Max   time.Duration            `json:"max"`
	P     map[string]time.Duration `json:"p"` // by the names of stats.Percentiles
}

// Trips returns the round trips of the answers of one master in some rows, ascending.
func Trips(rows []Row, master int) (trips []time.Duration) {
	for _, r := range rows {
		if r.Trips[master] >= 0 {
			trips = append(trips, r.Trips[master])
		}
	}
	slices.Sort(trips)
	return trips
}

// lost returns how many probes of a master got no answer, and the share of the length between such a probe and the answer
// to a later one.
func lost(rows []Row, master int, length time.Duration) (n int64, share float64) {
	down := time.Duration(0)
	for i, r := range rows {
		if r.Trips[master] >= 0 {
			continue
		}
		n++
		until := length
		if i+1 < len(rows) {
			until = min(length, rows[i+1].At+max(rows[i+1].Trips[master], 0))
		}
		down += until - r.At
	}
	return n, float64(down) / float64(max(length, 1))
}

// summary summarizes ascending round trips.
func summary(trips []time.Duration) RoundTrips {
	s := RoundTrips{Unit: "ns", Count: len(trips), P: map[string]time.Duration{}}
	if s.Count == 0 {
		return s
	}
	for _, t := range trips {
		s.Mean += float64(t) / float64(s.Count)
	}
	s.Min, s.Max = trips[0], trips[s.Count-1]
	for _, p := range stats.Percentiles {
		s.P[p.Name] = trips[int(p.Value*float64(s.Count)/100)]
	}
	return s
}
