package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
				soon(t, func() bool { s := e.Stats(); return s.Queued+int(s.Requests) == callers }, "all are under way")
				closed := make(chan error, 1)
				go func() { closed <- e.Close() }()
				soon(t, func() bool { return refuses(e) })
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

// refuses reports whether Close has come so far that nobody can get a lock.
func refuses(e *Engine) bool {
	last := &e.names.shards[nameShards-1]
	last.mu.Lock()
	defer last.mu.Unlock()
	return last.closed
}

func TestAnAcquireThatMeetsCloseAtAnyMomentLeavesNoKey(t *testing.T) {
	masters := redistest.Masters(t, 1)
	met := 0
	for i := range 200 {
		e := open(t, masters)
		ended := make(chan error)
		go func() {
			_, err := e.Acquire(context.Background(), fmt.Sprint(i), 0)
			ended <- err
		}()
		for begin := time.Now(); time.Since(begin) < time.Duration(i)*time.Microsecond; {
		}
		require.NoError(t, e.Close())
		if err := <-ended; err != nil {
			met++
			require.ErrorIs(t, err, ErrClosed)
			require.Empty(t, redistest.Get(t, masters, fmt.Sprint(i))[0])
		}
	}
	t.Log(met, "of 200 met it")
}
