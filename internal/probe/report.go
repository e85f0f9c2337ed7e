package probe

import (
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/internal/quorum"
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
type Master = bench.Master

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

// master returns what some rows say of one master.
func master(rows []Row, i int, length time.Duration) (m Master) {
	trips, down := bench.NewHistogram(), time.Duration(0)
	for n, r := range rows {
		if r.Trips[i] >= 0 {
			trips.Record(int64(r.Trips[i]), 1)
			continue
		}
		m.Lost++
		until := length
		if n+1 < len(rows) {
			until = min(length, rows[n+1].At+max(rows[n+1].Trips[i], 0))
		}
		down += until - r.At
	}
	m.RTT, m.Down = trips.Summary(), float64(down)/float64(max(length, 1))
	return m
}
