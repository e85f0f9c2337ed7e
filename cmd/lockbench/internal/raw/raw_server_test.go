package raw_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/raw"
	"muxlock/internal/quorum"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

func TestLoadCyclesOnAllMastersAndLeavesNothing(t *testing.T) {
	servers := redistest.Masters(t, 2)
	l, err := raw.Open(t.Context(), redistest.Addrs(servers), 10*time.Second)
	require.NoError(t, err)
	defer l.Close()

	var reports []bench.Progress
	r, err := l.Run(t.Context(), bench.Config{
		Warmup: 50 * time.Millisecond, Duration: 800 * time.Millisecond, Seed: 7,
		Progress: func(p bench.Progress) { reports = append(reports, p) },
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(reports), 2)
	require.Zero(t, reports[0].Elapsed, "the measured time begins")
	require.True(t, r.Valid.OK, r.Valid.Reasons)
	require.Equal(t, 2, r.Masters)
	require.EqualValues(t, 7, r.Seed)
	require.Positive(t, r.Totals.Acquired)
	h, err := r.Latency[bench.CycleTime].Histogram()
	require.NoError(t, err)
	require.Equal(t, h.Count(), r.Latency[bench.CycleTime].Count)
	require.InEpsilon(t, float64(r.Totals.Acquired-r.Drain.Acquired)/r.DurationS, r.ThroughputPerS, 1e-9)
	require.Positive(t, r.Fairness.Jain)
	require.Positive(t, r.Latency[bench.CycleTime].P["50"])
	require.GreaterOrEqual(t, r.Latency[bench.CycleTime].P["50"], r.Latency[bench.AcquireTime].P["50"])
	require.Positive(t, r.Client.CPUNsPerOp)
	require.Empty(t, redistest.Keys(t, servers...))
}

func TestCyclesAreThoseOfAMajorityOfMasters(t *testing.T) {
	for _, masters := range []int{2, 3} {
		servers := redistest.Masters(t, masters)
		l, err := raw.Open(t.Context(), redistest.Addrs(servers), 10*time.Second)
		require.NoError(t, err)
		defer l.Close()
		slow := servers[1]
		r, err := l.Run(t.Context(), bench.Config{Duration: 1500 * time.Millisecond, Begin: func(time.Time) {
			require.NoError(t, slow.Pause())
			time.AfterFunc(time.Second, func() { _ = slow.Resume() })
		}})
		require.NoError(t, err)
		calls, all := []int64(nil), int64(0)
		for i, s := range servers {
			calls = append(calls, setsOf(t, s))
			all += calls[i]
		}
		require.InDelta(t, all, r.Latency[bench.CycleTime].Count, float64(masters*raw.ConnsPerMaster*raw.Depth), "a latency for each at each master")
		slices.Sort(calls)
		require.InDelta(t, calls[masters-quorum.Size(masters)], r.Totals.Acquired, raw.ConnsPerMaster*raw.Depth, "the last batches end after the run")
		var cycles int64
		for _, p := range r.Series {
			cycles += p.Cycles
		}
		require.InDelta(t, r.Totals.Acquired, cycles+r.Drain.Cycles, 0)
	}
}

// setsOf returns how many SETs a server has seen.
func setsOf(t *testing.T, s *redisserver.Server) int64 {
	t.Helper()
	sets := regexp.MustCompile(`cmdstat_set:calls=(\d+)`).FindStringSubmatch(fmt.Sprint(redistest.Command(t, s, "INFO", "commandstats")))
	require.Len(t, sets, 2)
	calls, err := strconv.ParseInt(sets[1], 10, 64)
	require.NoError(t, err)
	return calls
}

func TestABadReplyFailsTheRun(t *testing.T) {
	// A server without room answers SET with an error.
	servers := redistest.MastersWith(t, 1, redisserver.Options{Args: []string{"--maxmemory", "1kb"}})
	l, err := raw.Open(t.Context(), redistest.Addrs(servers), 10*time.Second)
	if err == nil {
		defer l.Close()
		_, err = l.Run(t.Context(), bench.Config{Duration: 10 * time.Second})
	}
	require.ErrorContains(t, err, "OOM")
}

func TestAHungMasterFailsTheRunInTime(t *testing.T) {
	servers := redistest.Masters(t, 2)
	l, err := raw.Open(t.Context(), redistest.Addrs(servers), 10*time.Second)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, servers[1].Pause())
	_, err = l.Run(t.Context(), bench.Config{Duration: 50 * time.Millisecond})
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestAnInterruptedRunKeepsItsFigures(t *testing.T) {
	servers := redistest.Masters(t, 1)
	l, err := raw.Open(t.Context(), redistest.Addrs(servers), 10*time.Second)
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := l.Run(ctx, bench.Config{Duration: time.Hour, Progress: func(p bench.Progress) {
		if p.Point.Cycles > 0 {
			cancel()
		}
	}})
	require.NoError(t, err)
	require.True(t, r.Interrupted())
	require.Positive(t, r.Totals.Acquired)
	require.Empty(t, redistest.Keys(t, servers...))
}
