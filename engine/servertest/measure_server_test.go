package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

// allocsPerCycle runs cycles on own names in many goroutines and returns the heap
// allocations of the whole process per cycle.
func allocsPerCycle(t testing.TB, e *engine.Engine, workers, cycles int) float64 {
	t.Helper()
	names := make([]string, workers)
	for i := range names {
		names[i] = fmt.Sprint(t.Name(), "/", i)
	}
	run := func(cycles int) {
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				for range cycles {
					lock, err := e.Acquire(context.Background(), name, 0)
					if err != nil {
						t.Error(err)
						return
					}
					if err := lock.Release(context.Background()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	run(max(1, cycles/10)) // pools and buffers grow
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(cycles)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(workers*cycles)
}

func measured(c *engine.Config) { c.Measure = true }

func TestMeasurementsComeBackFromTheirJSON(t *testing.T) {
	e := open(t, five(t), measured)
	cycle(t, e, t.Name())
	soon(t, func() bool { return e.Measured().Pauses.Count > 2 })
	m := e.Measured()
	require.Equal(t, redistest.Addrs(five(t)), m.Masters)
	require.Equal(t, 1, m.Groups)
	text, err := json.Marshal(m)
	require.NoError(t, err)
	for _, part := range []string{`{"version":1,"begin":"`, `"span_ns":`, `"masters":["`, `"fencing":false`, `"acquires":{"count":1,"buckets":[{"most_ns":`,
		`"longest_from_ns":0,"longest":[{"at_ns":`, `,"took_ns":`, `"hand_overs":{"count":0,"buckets":[],`, `"holds":{"count":1,`, `"pauses":{"count":`, `"longest_from_ns":1000000,`} {
		require.Contains(t, string(text), part, "scripts rely on it")
	}
	var back engine.Measurements
	require.NoError(t, json.Unmarshal(text, &back))
	m.Begin, back.Begin = m.Begin.Round(0).UTC(), back.Begin.UTC()
	require.Equal(t, m, back)
}

func TestMeasuredMayBeAskedWhileLocksComeAndGo(t *testing.T) {
	e := open(t, five(t), measured)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for ctx.Err() == nil {
			m := e.Measured()
			if m.Holds.Count > m.Acquires.Count {
				t.Errorf("%d holds of %d locks", m.Holds.Count, m.Acquires.Count)
			}
		}
	}()
	require.Positive(t, allocsPerCycle(t, e, 8, 50))
	cancel()
	<-asked
	require.EqualValues(t, 8*55, e.Measured().Holds.Count)
}
