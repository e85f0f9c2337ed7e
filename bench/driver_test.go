package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// driver makes a batch of 10 operations every 4 ms, of which 5 are cycles, and fails at the end of some.
type driver struct {
	Locker
	fails int
}

var errDriver = errors.New("no room")

func (d driver) Drive(_ context.Context, _ int, count func(Batch) bool) error {
	for i := 1; ; i++ {
		time.Sleep(4 * time.Millisecond)
		if i == d.fails {
			return errDriver
		}
		if !count(Batch{Cycles: 5, Operations: 10, Acquire: 3 * time.Millisecond, Release: time.Millisecond}) {
			return nil
		}
	}
}

func TestADriverMakesTheOperations(t *testing.T) {
	cfg := Config{Workers: 2, Duration: 4 * time.Second, Warmup: time.Second, TTL: time.Second}
	r := measure(t, driver{}, cfg)
	require.True(t, r.Valid.OK, r.Valid)
	require.True(t, r.Safety.Unaudited)
	require.InDelta(t, 2*5*1000, r.Totals.Acquired, 20)
	require.InEpsilon(t, 2*5*250, r.ThroughputPerS, 0.01)
	require.Equal(t, 2*r.Totals.Acquired, r.Latency[CycleTime].Count)
	require.InEpsilon(t, 4e6, r.Latency[CycleTime].Max, 0.001)
	require.InEpsilon(t, 3e6, r.Fairness.MaxWaitNs, 0.001)
	virtual(t, nil, driver{fails: 50}, cfg, func(t *testing.T, _ *Result, err error) { require.ErrorIs(t, err, errDriver) })
}
