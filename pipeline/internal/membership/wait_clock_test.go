package membership

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/pipeline/internal/conn"
)

// A wait that begins within a millisecond is noted as of its end: no process may find it longer than it was.
func TestNotedTimeIsRoundedUp(t *testing.T) {
	now := 1500*time.Millisecond + 1
	c := WaitClock{ID: "clock", now: func() time.Duration { return now }}
	var b conn.Batch
	c.AddNote(&b, "ticket")
	require.True(t, strings.HasSuffix(string(b.Bytes()), "\r\n1501\r\n"), "%q", b.Bytes())
	passed, known := c.Passed("1501")
	require.True(t, known)
	require.Zero(t, passed)
	now += time.Second
	passed, _ = c.Passed("1501")
	require.Equal(t, time.Second-time.Millisecond+1, passed)
}

func TestWhatPassedIsKnownOfAnEntryThatThisClockCanRead(t *testing.T) {
	for _, c := range []struct{ id, since string }{{"clock", ""}, {"clock", "soon"}, {"", "1501"}, {"", ""}} {
		passed, known := WaitClock{ID: c.id, now: func() time.Duration { return time.Hour }}.Passed(c.since)
		require.False(t, known, c)
		require.Zero(t, passed)
	}
	c := NewWaitClock("set", "data", "2")
	machine, _ := clock.Shared()
	if machine == "" { // not each system has such a clock
		require.Empty(t, c.ID)
		return
	}
	require.Equal(t, machine+" data 2 set", c.ID)
	passed, known := c.Passed("0")
	require.True(t, known)
	require.Positive(t, passed)
}
