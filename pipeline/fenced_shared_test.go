package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// What readers and their writers ask of a master that lost its data leaves it connected, so that its admission goes on.
func TestReadersOfAMasterThatIsNotAdmittedLeaveItConnected(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		reader := Request{Op: Acquire, Name: "a", Token: "~123456789012345678901234@", TTL: testWait * 10, Shared: true}
		out := outcomeOf(t, b.p, reader)
		require.Equal(t, quorum.Won, out.Verdict)
		b.servers[0].Restart()
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 0b110, b.admitted())
		for _, op := range []Op{Extend, Intend} {
			reader.Op, reader.Shared = op, op == Extend
			out = outcomeOf(t, b.p, reader)
			require.Equal(t, quorum.Won, out.Verdict)
			synctest.Wait()
			require.EqualValues(t, 1, b.p.Stats().Masters[0].SetAside, "by its restart")
		}
	})
}
