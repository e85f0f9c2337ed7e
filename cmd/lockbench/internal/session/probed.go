package session

import (
	"cmp"
	"math"
	"slices"
	"time"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/peaks"
	"muxlock/internal/probe"
	"muxlock/internal/quorum"
)

// rowsMost limits the rows of a result. A few thousand rows show the tail of an attempt, and keep a
// result small.
const rowsMost = 2000

// addProbes adds to a result what the prober saw beside its load.
func addProbes(res *bench.Result, seen *probe.Report, timeout time.Duration) {
	res.PerMaster = seen.Masters
	res.Probe = &bench.Probe{TimeoutNs: int64(timeout), Rows: [][]time.Duration{}, Slow: slowest(seen)}
	n := len(seen.Rows)
	for k := range min(n, rowsMost) { // spread over all
		row := seen.Rows[k*n/min(n, rowsMost)]
		res.Probe.Rows = append(res.Probe.Rows, row.Trips)
		res.Probe.AtNs = append(res.Probe.AtNs, int64(row.At))
	}
	rest := seen.Rows
	for i := 0; i < len(res.Series) && time.Duration(i)*time.Second < seen.Length; i++ {
		end, _ := slices.BinarySearchFunc(rest, time.Duration(i+1)*time.Second, func(r probe.Row, at time.Duration) int { return cmp.Compare(r.At, at) })
		for m := range seen.Masters {
			median := int64(-1)
			if trips := probe.Trips(rest[:end], m); len(trips) > 0 {
				median = int64(trips[(len(trips)-1)/2])
			}
			res.Series[i].MasterNs = append(res.Series[i].MasterNs, median)
		}
		rest = rest[end:]
	}
}

// slowest returns the rows whose quorum took longest, as bench.Probe.Slow has them.
func slowest(seen *probe.Report) (slow []bench.Peak) {
	q := quorum.Size(len(seen.Masters))
	for i, row := range seen.Rows {
		took, ok := row.Took(q)
		if !ok {
			next := seen.Length
			if i+1 < len(seen.Rows) {
				next = seen.Rows[i+1].At
			}
			took = -max(next-row.At, 1)
		}
		if took < 0 || took >= sizing.LeastTimeout {
			slow = append(slow, bench.Peak{AtNs: int64(row.At), Ns: int64(took)})
		}
	}
	if len(slow) > peaks.Most {
		slow, _ = peaks.Halve(slow, func(k bench.Peak) int64 {
			if k.Ns < 0 { // never
				return math.MaxInt64
			}
			return k.Ns
		})
		slices.SortFunc(slow, func(a, b bench.Peak) int { return cmp.Compare(a.AtNs, b.AtNs) })
	}
	return slow
}
