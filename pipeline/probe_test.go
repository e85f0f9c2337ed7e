package pipeline

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
)

func TestMisconfigurationIsWhatWaitingCannotMend(t *testing.T) {
	for _, word := range []string{"WRONGPASS", "NOAUTH", "NOPERM"} {
		require.True(t, isMisconfigured(resp.ErrorOf(word+" text")), word)
	}
	require.True(t, isMisconfigured(resp.ErrorOf("ERR DB index is out of range")))
	require.True(t, isMisconfigured(fmt.Errorf("%w as m1", errSameServer)))
	require.False(t, isMisconfigured(resp.ErrorOf("LOADING text")))
	require.False(t, isMisconfigured(net.ErrClosed))
	require.False(t, isMisconfigured(nil))
}
