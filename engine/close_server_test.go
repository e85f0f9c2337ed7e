package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestAcquiresThatMeetCloseLeaveNoKey(t *testing.T) {
	for _, n := range []int{1, 5} {
		t.Run(fmt.Sprintf("masters=%d", n), func(t *testing.T) {
			masters := redistest.Masters(t, n)
			for try := range 50 {
				e, links := bent(t, masters)
				hold := func(on bool) {
					for _, link := range links {
						link.HoldReplies(on)
					}
				}
				hold(true)
				callers := 1 + try%3
				ended := make(chan error, callers)
				for i := range callers {
					go func() {
						_, err := e.Acquire(context.Background(), fmt.Sprint(i), 0)
						ended <- err
					}()
				}
				await.True(t, func() bool { s := e.Stats(); return s.Queued+int(s.Requests) == callers }, "all are under way")
				closed := make(chan error, 1)
				go func() { closed <- e.Close() }()
				await.True(t, func() bool { return refuses(e) })
				hold(false)
				for range callers {
					require.ErrorIs(t, <-ended, ErrClosed)
				}
				require.NoError(t, <-closed)
				require.Empty(t, redistest.Keys(t, masters...), "try %d", try)
			}
		})
	}
}
