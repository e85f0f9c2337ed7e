package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/internal/peaks"
	"muxlock/internal/probe"
)

// every makes n rows, one each so often.
func every(pause time.Duration, n int, trips func(i int) []time.Duration) *probe.Report {
	r := &probe.Report{Length: time.Duration(n) * pause}
	for i := range n {
		r.Rows = append(r.Rows, probe.Row{At: time.Duration(i) * pause, Trips: trips(i)})
	}
	r.Masters = make([]probe.Master, len(trips(0)))
	return r
}

func TestAResultGetsTheProbesOfItsMasters(t *testing.T) {
	seen := every(10*time.Millisecond, 250, func(i int) []time.Duration {
		switch {
		case i < 100:
			return []time.Duration{time.Duration(100 - i), 7}
		case i < 200:
			return []time.Duration{4, -1}
		}
		return []time.Duration{5, 60}
	})
	seen.Masters = []probe.Master{{Addr: "a"}, {Addr: "b"}}
	res := &bench.Result{Series: []bench.Point{{TS: 1}, {TS: 2}, {TS: 2.5}, {TS: 3}}}
	addProbes(res, seen, time.Second)
	require.Equal(t, seen.Masters, res.PerMaster)
	require.EqualValues(t, time.Second, res.Probe.TimeoutNs)
	require.Len(t, res.Probe.Rows, 250)
	require.Equal(t, []time.Duration{4, -1}, res.Probe.Rows[100])
	require.EqualValues(t, time.Second, res.Probe.AtNs[100])
	for i, want := range [][]int64{{50, 7}, {4, -1}, {5, 60}, nil} {
		require.Equal(t, want, res.Series[i].MasterNs, "medians of a second")
	}
}

func TestAResultHoldsAtMostSoManyRowsSpreadOverAllOfThem(t *testing.T) {
	res := new(bench.Result)
	addProbes(res, every(time.Millisecond, 3*rowsMost/2, func(i int) []time.Duration { return []time.Duration{time.Duration(i)} }), 0)
	require.Len(t, res.Probe.Rows, rowsMost)
	for i, row := range res.Probe.Rows {
		require.InDelta(t, 1.5*float64(i), row[0], 1)
		require.EqualValues(t, int64(row[0])*1e6, res.Probe.AtNs[i])
	}
}

func TestNoSlowRowIsLostAmongManyFastOnes(t *testing.T) {
	found := slowest(every(10*time.Millisecond, 40_000, func(i int) []time.Duration {
		switch i {
		case 20_000, 20_001:
			return []time.Duration{-1, 1, -1}
		case 39_999:
			return []time.Duration{1, 80 * time.Millisecond, -1}
		}
		return []time.Duration{1, 1, time.Second}
	}))
	untilTheNext := int64(-10e6)
	require.Equal(t, []bench.Peak{{AtNs: 200e9, Ns: untilTheNext}, {AtNs: 200.01e9, Ns: untilTheNext}, {AtNs: 399.99e9, Ns: 80e6}}, found)
}

func TestOfManySlowRowsTheFirstOfTheSlowestAreKept(t *testing.T) {
	require.Len(t, slowest(every(time.Millisecond, peaks.Most, func(int) []time.Duration { return []time.Duration{time.Second} })), peaks.Most)
	for _, end := range []int{6000, 1900} { // of an outage since 1000
		found := slowest(every(time.Millisecond, 6000, func(i int) []time.Duration {
			if i < 1000 || i >= end { // an answer
				return []time.Duration{time.Second + time.Duration(i*7919%1000)}
			}
			return []time.Duration{-1}
		}))
		require.Len(t, found, peaks.Most/2)
		next := 1000
		for i, one := range found {
			require.True(t, i == 0 || found[i-1].AtNs < one.AtNs)
			if one.Ns < 0 {
				require.EqualValues(t, next*1e6, one.AtNs, "without a gap")
				next++
			} else {
				require.Greater(t, one.Ns, int64(time.Second+970))
			}
		}
		require.Equal(t, min(end, 1000+peaks.Most/2), next)
	}
}
