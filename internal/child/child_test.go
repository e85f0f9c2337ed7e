package child

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The child is this test binary, which does not know Command and so runs the tests.
func TestAProgramThatDoesNotKnowItsArgumentStartsItselfOnce(t *testing.T) {
	if os.Getenv("MUXLOCK_QUICK") == "1" {
		t.Skip("starts a process")
	}
	p, err := Talk(os.Stderr, nil, "anything")
	if os.Getenv(talking) != "" {
		require.ErrorContains(t, err, "starts no other one")
		return
	}
	require.NoError(t, err)
	_ = p.In.Close() // which the end of the child may have closed
	said, err := io.ReadAll(p.Out)
	require.NoError(t, err)
	<-p.Done
	require.NoError(t, p.Out.Close())
	require.True(t, p.ProcessState.Success(), "%s", said)
}
