package redisfake

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

func TestFakeReportsItselfAsAServerDoes(t *testing.T) {
	theirs := real(t).info()
	s, c := fake(t)
	ours := c.info()
	for field := range ours {
		require.Contains(t, theirs, field)
	}
	require.Len(t, ours.RunID(), len(theirs.RunID()))
	require.Equal(t, theirs.Role(), ours.Role())
	up, _ := ours.Uptime()
	require.Greater(t, up, 24*time.Hour)
	s.Restart()
	_, err := c.Do(t.Context(), c.B().Ping().Build()).ToString()
	require.Error(t, err, "the connection has ended")
	again := connect(t, rueidis.ClientOption{InitAddress: []string{"fake:6379"}, DialCtxFn: s.Dial})
	now := again.info()
	require.NotEqual(t, ours.RunID(), now.RunID())
	up, _ = now.Uptime()
	require.Less(t, up, time.Hour)
}
