package wakeup

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/redisfake"
)

// testWakeups returns wakeups over masters without servers, and one awaited name.
func testWakeups(masters int) (*Wakeups, *subscription, *Waiter) {
	u := &Wakeups{ctx: context.Background(), quorum: quorum.Size(masters), names: make(map[string]*subscription), pushed: make(map[string][]observation)}
	for i := range masters {
		u.trackers = append(u.trackers, &tracker{wakeups: u, index: i, wake: make(chan struct{}, 1), unread: make(map[*subscription]bool)})
	}
	w := u.Join("a", time.Hour)
	return u, w.sub, w
}

// taken makes a tracker take its unread names, as run does before it sends.
func (tr *tracker) taken(t *testing.T) {
	t.Helper()
	_, live := tr.take(tr.connection)
	require.True(t, live)
}

func (t *tracker) apply(sub *subscription, left int64) {
	t.wakeups.mu.Lock()
	defer t.wakeups.mu.Unlock()
	t.applyLocked(sub, true, left, time.Now(), 0)
}

// resultOf returns what rueidis makes of a reply on the wire.
func resultOf(t testing.TB, wire string) rueidis.RedisResult {
	t.Helper()
	theirs, ours := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		in, buf := "", make([]byte, 1<<10)
		for {
			n, err := ours.Read(buf)
			if err != nil {
				return
			}
			in += string(buf[:n])
			for args, rest, err := redisfake.CutCommand(in); err == nil; args, rest, err = redisfake.CutCommand(in) {
				in = rest
				reply := wire
				switch args[0] {
				case "HELLO":
					reply = "%1\r\n+proto\r\n:3\r\n"
				case "CLIENT", "PING":
					reply = "+OK\r\n"
				}
				go ours.Write([]byte(reply))
			}
		}
	})
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"-"}, ForceSingleClient: true, DisableCache: true, DisableRetry: true, ClientSetInfo: rueidis.DisableClientSetInfo,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return theirs, nil },
	})
	require.NoError(t, err)
	result := client.Do(context.Background(), client.B().Arbitrary("GET").Args("a").Build())
	client.Close()
	ours.Close()
	served.Wait()
	return result
}

func pushOf(t *testing.T, name string) []rueidis.RedisMessage {
	t.Helper()
	list, err := resultOf(t, "*1\r\n"+fmt.Sprintf("$%d\r\n%s\r\n", len(name), name)).ToArray()
	require.NoError(t, err)
	return list
}

func TestPushThatOvertakesTheReplyIsNotLost(t *testing.T) {
	u, sub, _ := testWakeups(3)
	tr, o := u.trackers[0], &sub.observations[0]
	tr.taken(t)
	require.False(t, tr.unread[sub])
	tr.onPush(0, pushOf(t, "a"))
	require.Equal(t, observation{reading: true, pushed: true}, *o)
	tr.apply(sub, -1)
	require.Equal(t, [2]any{held, false}, [2]any{o.state, o.armed}, "nothing more will be pushed")
	require.True(t, tr.unread[sub], "so it is read again")
	tr.taken(t)
	tr.apply(sub, -1)
	require.Equal(t, [2]any{held, true}, [2]any{o.state, o.armed})
}

func TestPushOfWhatIsUnreadChangesNothing(t *testing.T) {
	u, sub, _ := testWakeups(3)
	tr := u.trackers[0]
	tr.onPush(0, pushOf(t, "a"))
	require.Equal(t, observation{}, sub.observations[0])
	tr.taken(t)
	tr.apply(sub, -2)
	o := &sub.observations[0]
	require.Equal(t, [2]any{absent, true}, [2]any{o.state, o.armed})
	tr.onPush(0, pushOf(t, "a"))
	require.Equal(t, [2]any{unseen, false}, [2]any{o.state, o.armed}, "somebody took it")
	require.True(t, tr.unread[sub])
}

func TestPushOfAnOldConnectionIsIgnored(t *testing.T) {
	u, sub, _ := testWakeups(3)
	tr := u.trackers[0]
	tr.taken(t)
	tr.apply(sub, 1000)
	require.Equal(t, held, sub.observations[0].state)
	tr.onPush(0, nil)
	require.Equal(t, observation{}, sub.observations[0])
	tr.taken(t)
	tr.apply(sub, 1000)
	tr.onPush(0, pushOf(t, "a"))
	tr.onPush(0, nil)
	require.Equal(t, held, sub.observations[0].state)
}

func TestReplyForAForgottenNameDoesNotTouchItsSuccessor(t *testing.T) {
	u, old, w := testWakeups(3)
	for _, tr := range u.trackers {
		tr.taken(t)
	}
	u.Leave(w)
	sub := u.Join("a", time.Hour).sub
	for _, tr := range u.trackers {
		tr.apply(old, -2)
	}
	require.Same(t, sub, u.names["a"])
	require.Equal(t, observation{}, sub.observations[0])
	require.True(t, u.trackers[0].unread[sub])
}

func TestWaiterThatIsWokenDoesNotForgetItsSuccessors(t *testing.T) {
	u, old, w := testWakeups(3)
	for _, tr := range u.trackers {
		tr.taken(t)
		tr.apply(old, -2)
	}
	<-w.Free
	i := u.Join("a", time.Hour).sub
	u.Leave(w)
	require.Same(t, i, u.names["a"])
	require.True(t, u.trackers[0].unread[i])
}

func TestMemoryOfABurstOfAwaitedNamesIsFreed(t *testing.T) {
	u := &Wakeups{quorum: 2, names: make(map[string]*subscription), pushed: make(map[string][]observation)}
	for i := range 3 {
		u.trackers = append(u.trackers, &tracker{wakeups: u, index: i, wake: make(chan struct{}, 1), unread: make(map[*subscription]bool)})
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const burst = 100_000
	left := make([]func(), burst)
	for i := range left {
		waiter := u.Join(fmt.Sprint("name", i), time.Hour)
		left[i] = func() { u.Leave(waiter) }
	}
	require.Len(t, u.names, burst)
	during := heap()
	for i := range left {
		left[i]()
		left[i] = nil
	}
	after := heap()
	t.Logf("%d bytes a name, %d in all when it is over", (during-before)/burst, after-before)
	require.Empty(t, u.names)
	require.Less(t, after-before, (during-before)/20)
	runtime.KeepAlive(u)
	runtime.KeepAlive(left)
}
