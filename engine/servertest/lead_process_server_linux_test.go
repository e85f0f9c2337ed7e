package servertest

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

// Both functions run at once, as with every lease: only the resource can tell them apart.
func TestLeaderProcessStoppedForLongerThanItsLeaseIsSecondAndOnlyTheFenceRefusesIt(t *testing.T) {
	t.Parallel()
	masters, at := fencedSet(t, 5), redistest.Masters(t, 1)[0]
	client, err := resource(at.Addr())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	e := open(t, masters, fenced)
	first, lines := redistest.StartSelf(t, leaderEnv, append(masters, at))
	var older uint64
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscanf(line, "leads %d\n", &older)
	require.NoError(t, err, line)

	redistest.StopProcess(t, first)
	require.NoError(t, e.Lead(t.Context(), "name", 20*time.Second, func(ctx context.Context, lock *engine.Lock) error {
		require.Greater(t, lock.Fence(), older)
		require.NoError(t, client.Do(ctx, client.B().Set().Key("plain").Value("second").Build()).Error())
		require.NoError(t, fencedValue(client).Set(ctx, lock.Fence(), "second"))

		require.NoError(t, first.Signal(syscall.SIGCONT))
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "true true true\n", line)
		require.True(t, lock.Valid())
		require.Equal(t, "first", redistest.Command(t, at, "GET", "plain"), "without a fence there were two leaders")
		require.Equal(t, "second", redistest.Command(t, at, "HGET", "fenced", "value"))
		return nil
	}))
}
