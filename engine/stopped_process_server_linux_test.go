package engine

import (
	"encoding/json"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestAProcessThatWasStoppedSeesAPauseAsLong(t *testing.T) {
	t.Parallel()
	process, lines := redistest.StartSelf(t, measuredEnv, redistest.Masters(t, 1))
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "measuring\n", line)
	redistest.StopProcess(t, process)
	time.Sleep(stoppedFor) // this is the fault
	require.NoError(t, process.Signal(syscall.SIGCONT))
	line, err = lines.ReadString('\n')
	require.NoError(t, err)
	var m Measurements
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	last := m.Pauses.Buckets[len(m.Pauses.Buckets)-1]
	require.GreaterOrEqual(t, last.Most, stoppedFor-pausePeriod, line)
	require.Equal(t, last, Bucket{mostIn(bucketOf(slices.Max(took(m.Pauses)))), 1})
	require.Greater(t, m.Span, stoppedFor)
}
