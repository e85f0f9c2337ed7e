package probe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/wire"
	"muxlock/internal/redistest"
)

func TestAServerTellsWhatItHasUsedMeanwhile(t *testing.T) {
	addr := redistest.Masters(t, 1)[0].Addr()
	conn, err := wire.Dial(t.Context(), addr)
	require.NoError(t, err)
	defer conn.Close()
	work := func(times int) {
		for range times {
			_, err := conn.Call("SET", "a", "b")
			require.NoError(t, err)
		}
		_, err = conn.Call("EVAL", "local x = 0 for i = 1, 5000000 do x = x + i end", "0")
		require.NoError(t, err)
	}
	m := meter{addr: addr, timeout: 20 * time.Second}
	work(1000)
	m.before = m.read(t.Context())
	work(300)
	m.after = m.read(t.Context())
	require.EqualValues(t, 301-70, m.used(70).Commands, "300 SET and EVAL, of which 70 are said to be probes")
	require.Greater(t, m.used(0).CPUNs, int64(2*time.Millisecond))
	before := m.after
	m.before, m.after = before, m.read(t.Context())
	require.Less(t, m.used(0).CPUNs, int64(2*time.Millisecond), "nothing was done")
	require.Zero(t, m.used(0).Commands)
}

func TestAServerThatWasRestartedOrDoesNotTellHasUsedNothingKnown(t *testing.T) {
	before := use{"a", 3, 100}
	for what, m := range map[string]meter{
		"restarted":            {before: before, after: use{"b", 4, 200}},
		"gone at the end":      {before: before},
		"not there before":     {after: before},
		"told by nobody":       {},
		"its clock went back":  {before: before, after: use{"a", 2, 200}},
		"another one, hidden ": {before: use{"", 1, 1}, after: use{"", 2, 20}},
	} {
		require.Nil(t, m.used(0), what)
	}
	m := meter{before: before, after: use{"a", 3.5, 120}}
	require.Equal(t, &bench.ServerUse{CPUNs: 500_000_000, Commands: 19}, m.used(0))
	require.Zero(t, m.used(50).Commands, "probes that were answered after the last reading")

	m = meter{addr: "127.0.0.1:1", timeout: time.Second}
	require.Zero(t, m.read(t.Context()))
}
