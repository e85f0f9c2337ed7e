package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestLockGoesToTheNextInLineWithoutARequestOfIts(t *testing.T) {
	servers := redistest.Masters(t, 5)
	holder, _ := overServers(t, servers, await.Patience)
	next, _ := overServers(t, servers, await.Patience)
	out, err := holder.Do(t.Context(), Request{Op: Acquire, Name: "n", Token: "t1", TTL: hour})
	require.NoError(t, err)
	require.Equal(t, quorum.Won, out.Verdict)
	for _, p := range []*Pipeline{holder, next} {
		untilLines(t, p)
	}
	waits, h := stand(t, next, "n", "t2")
	require.Equal(t, quorum.Denied, waits.Verdict)
	requireHeldBy(t, servers, "n", "t1")
	rounds := next.Stats().Rounds
	passed, err := holder.Do(t.Context(), passOf("n", "t1", out.Origin))
	require.NoError(t, err)
	require.Equal(t, quorum.Won, passed.Verdict)
	for _, a := range h.grants(5) {
		require.EqualValues(t, 1, a.Version)
		require.GreaterOrEqual(t, a.Lease, 2*time.Second)
	}
	requireHeldBy(t, servers, "n", "t2")
	require.Equal(t, rounds, next.Stats().Rounds)
	passed, err = next.Do(t.Context(), passOf("n", "t2", waits.Origin))
	require.NoError(t, err)
	require.Equal(t, quorum.Won, passed.Verdict)
	requireQuiet(t, next, servers)
}
