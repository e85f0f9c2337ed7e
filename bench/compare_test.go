package bench

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type closing struct {
	noop
	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }

func TestCompareInterleavesRoundsWithOneSeedEach(t *testing.T) {
	var opened, closed int
	open := func(context.Context) (Locker, error) { opened++; return closing{closed: &closed}, nil }
	cfg := Config{Workers: 1, Duration: 5 * time.Millisecond, TTL: time.Second, Seed: 9}
	targets := []Target{{"a", 5, open}, {"b", 1, open}, {"c", 5, open}}
	results, err := Compare(t.Context(), targets, cfg, 3)
	require.NoError(t, err)
	var order []string
	seeds := map[int]uint64{}
	for _, r := range results {
		order = append(order, r.Impl)
		if seeds[r.Round] == 0 {
			seeds[r.Round] = r.Seed
		}
		require.Equal(t, seeds[r.Round], r.Seed)
	}
	require.Equal(t, []string{"a", "b", "c", "c", "b", "a", "a", "b", "c"}, order)
	require.Len(t, seeds, 3)
	require.NotEqual(t, seeds[1], seeds[2])
	require.Equal(t, 5, results[0].Masters)
	require.Equal(t, 3, opened, "a target stays open between rounds")
	require.Equal(t, 3, closed)
}

func TestCompareKeepsResultsWhenATargetFails(t *testing.T) {
	var closed int
	cause := errors.New("no such server")
	targets := []Target{
		{"good", 0, func(context.Context) (Locker, error) { return closing{closed: &closed}, nil }},
		{"bad", 0, func(context.Context) (Locker, error) { return nil, cause }},
	}
	cfg := Config{Workers: 1, Duration: 5 * time.Millisecond, TTL: time.Second}
	results, err := Compare(t.Context(), targets, cfg, 2)
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, "bad")
	require.Len(t, results, 1)
	require.Equal(t, 1, closed)
}

func TestCompareStopsAtAnInterrupt(t *testing.T) {
	var closed int
	ctx, cancel := context.WithCancel(t.Context())
	cfg := Config{Workers: 1, Duration: time.Minute, TTL: time.Second}
	open := func(context.Context) (Locker, error) { return closing{closed: &closed}, nil }
	time.AfterFunc(20*time.Millisecond, cancel)
	results, err := Compare(ctx, []Target{{"a", 0, open}, {"b", 0, open}}, cfg, 2)
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.True(t, results[0].Interrupted())
	require.Equal(t, 1, closed)
}

func TestCompareRefusesWhatItCannotRun(t *testing.T) {
	a := Target{Name: "a"}
	for _, c := range []struct {
		targets []Target
		rounds  int
		cfg     Config
		names   string
	}{
		{nil, 1, good(), "--impl"},
		{[]Target{a, a}, 1, good(), "--impl"},
		{[]Target{a}, 0, good(), "--rounds"},
		{[]Target{a}, 1, Config{}, "--workers"},
	} {
		_, err := Compare(t.Context(), c.targets, c.cfg, c.rounds)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, c.names)
	}
}

func result(impl string, round int, throughput float64, p99 int64) *Result {
	return &Result{
		Impl: impl, Round: round, ThroughputPerS: throughput,
		Latency: Latencies{Cycle: &Summary{P: map[string]int64{"50": p99 / 2, "99": p99}}},
		Client:  Client{CPUNsPerOp: 100},
		Valid:   Valid{OK: true},
	}
}

func TestRelativeIsTheMedianOfRatiosWithinRounds(t *testing.T) {
	results := []*Result{
		result("ref", 1, 100, 1000), result("new", 1, 1000, 500),
		result("ref", 2, 50, 1000), result("new", 2, 1000, 250), // a slow moment for ref alone
		result("ref", 3, 100, 1000), result("new", 3, 1100, 500),
	}
	cut := result("new", 4, 1, 1)
	cut.Invalidate(ReasonInterrupted)
	results = append(results, result("ref", 4, 1, 1), cut)

	rows := RelativeTo("ref", results)
	require.Len(t, rows, 2)
	row := rows[1]
	require.Equal(t, "new", row.Impl)
	require.Equal(t, 3, row.Rounds)
	require.Equal(t, "cycle", row.Latency)
	require.Equal(t, &Ratio{Median: 11, Min: 10, Max: 20}, row.Throughput)
	require.Equal(t, &Ratio{Median: 0.5, Min: 0.25, Max: 0.5}, row.P99)
	require.Equal(t, &Ratio{Median: 1, Min: 1, Max: 1}, row.CPUPerOp)
	require.Nil(t, row.AllocsPerOp, "0/0 is no ratio")
	require.Equal(t, 1.0, rows[0].Throughput.Median)
	require.Empty(t, RelativeTo("absent", results))
}

func TestRelativeOfNothingAcquiredIsStillJSON(t *testing.T) {
	rows := RelativeTo("ref", []*Result{result("ref", 1, 0, 0), result("new", 1, 0, 0)})
	b, err := json.Marshal(rows)
	require.NoError(t, err)
	require.NotContains(t, string(b), "throughput")
}

func TestMedianOfAnEvenNumberIsBetweenTheMiddleTwo(t *testing.T) {
	require.Equal(t, &Ratio{Median: 2.5, Min: 1, Max: 4}, spread([]float64{4, 1, 3, 2}))
}
