package redsync

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

// calls returns the errors of all calls that ask the masters.
func calls(m *Mutex) map[string]error {
	_, unlock := m.Unlock()
	_, extend := m.Extend()
	_, valid := m.Valid()
	return map[string]error{"Lock": m.Lock(), "TryLock": m.TryLock(), "Unlock": unlock, "Extend": extend, "Valid": valid}
}

func TestNonsenseIsRefusedBeforeAnythingIsSent(t *testing.T) {
	e := open(t)
	sync := New(e)
	for _, c := range []struct {
		option Option
		says   string
	}{
		{WithExpiry(0), "WithExpiry: 0s"},
		{WithExpiry(-time.Second), "WithExpiry: -1s"},
		{WithExpiry(time.Millisecond - 1), "WithExpiry: 999.999µs"},
		{WithTries(0), "WithTries: 0"},
		{WithTries(-1), "WithTries: -1"},
		{WithRetryDelay(-1), "WithRetryDelay: -1ns"},
		{WithRetryDelayFunc(nil), "WithRetryDelayFunc"},
		{WithDriftFactor(-0.1), "WithDriftFactor: -0.1"},
		{WithDriftFactor(1), "WithDriftFactor: 1"},
		{WithDriftFactor(math.NaN()), "WithDriftFactor: NaN"},
		{WithTimeoutFactor(0), "WithTimeoutFactor: 0"},
		{WithTimeoutFactor(math.Inf(1)), "WithTimeoutFactor: +Inf"},
		{WithTimeoutFactor(math.NaN()), "WithTimeoutFactor: NaN"},
		{WithGenValueFunc(func() (string, error) { return "mine", nil }), "WithGenValueFunc"},
	} {
		m := sync.NewMutex(t.Name(), WithValue("another's"), c.option, WithFailFast(true))
		for call, err := range calls(m) {
			require.ErrorIs(t, err, engine.ErrInvalid, call)
			require.ErrorContains(t, err, c.says, call)
		}
	}
	for says, m := range map[string]*Mutex{
		"name":   sync.NewMutex("", WithValue("another's")),
		"MaxTTL": sync.NewMutex(t.Name(), WithExpiry(time.Hour), WithValue("another's")),
		"leaves": sync.NewMutex(t.Name(), WithExpiry(time.Second), WithValue("another's")),
		"engine": New(nil).NewMutex(t.Name()),
	} {
		for call, err := range calls(m) {
			require.ErrorIs(t, err, engine.ErrInvalid, "%s: %s", says, call)
			require.ErrorContains(t, err, says, call)
		}
	}
	long := sync.NewMutex(t.Name(), WithValue(strings.Repeat("x", 1000)))
	for _, call := range []func() (bool, error){long.Unlock, long.Extend, long.Valid} {
		_, err := call()
		require.ErrorIs(t, err, engine.ErrInvalid)
	}
	require.Zero(t, e.Stats().Requests)
}

func TestLimitsOfOptionsAreTaken(t *testing.T) {
	sync := New(open(t))
	for i, options := range [][]Option{
		{WithTries(math.MaxInt), WithRetryDelay(math.MaxInt64)},
		{WithRetryDelay(0), WithTimeoutFactor(1)},
		{WithDriftFactor(0)},
		{WithExpiry(30 * time.Second)},
		{WithShufflePools(true), WithFailFast(false), WithSetNXOnExtend(), WithValue("")},
		{WithRetryDelayFunc(nil), WithRetryDelay(time.Second), WithRetryDelayFunc(func(int) time.Duration { return 0 })},
	} {
		m := sync.NewMutex(t.Name(), options...)
		if i == 5 {
			require.ErrorIs(t, m.Lock(), engine.ErrInvalid, "a nil function is not forgotten")
			continue
		}
		require.NoError(t, m.Lock(), i)
		unlock(t, m)
	}
}
