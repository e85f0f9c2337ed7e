package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func measured(c *engine.Config) { c.Measure = true }

func TestMeasurementsComeBackFromTheirJSON(t *testing.T) {
	e := open(t, five(t), measured)
	cycle(t, e, t.Name())
	await.True(t, func() bool { return e.Measured().Pauses.Count > 2 })
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
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				lock, err := e.Acquire(context.Background(), fmt.Sprint(t.Name(), "/", i), 0)
				if assert.NoError(t, err) {
					assert.NoError(t, lock.Release(context.Background()))
				}
			}
		})
	}
	all.Wait()
	cancel()
	<-asked
	require.EqualValues(t, 8*50, e.Measured().Holds.Count)
}
