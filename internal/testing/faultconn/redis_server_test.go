package faultconn_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

// client connects to one real master through a link.
func client(t testing.TB, timeout time.Duration) (*faultconn.Link, rueidis.Client) {
	t.Helper()
	link := faultconn.NewLink()
	return link, dial(t, link.Dial, timeout)
}

// answered is how long the master may take where no fault stops it.
const answered = 10 * time.Second

// dialFunc is what rueidis takes as a dialer.
type dialFunc = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// dial connects to one real master; nil is the plain dialer.
func dial(t testing.TB, dialer dialFunc, timeout time.Duration) rueidis.Client {
	t.Helper()
	master := redistest.Masters(t, 1)[0]
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{master.Addr()},
		DialCtxFn:         dialer,
		Dialer:            net.Dialer{Timeout: timeout},
		ConnWriteTimeout:  timeout,
		ForceSingleClient: true,
		DisableCache:      true,
		DisableRetry:      true,
		AlwaysPipelining:  true,
		PipelineMultiplex: -1,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// exchange sends n commands as one pipeline and returns how long all their answers took.
func exchange(t testing.TB, c rueidis.Client, n int) time.Duration {
	t.Helper()
	cmds := make([]rueidis.Completed, n)
	for i := range cmds {
		cmds[i] = c.B().Incr().Key("n").Build()
	}
	begin := time.Now()
	for _, reply := range c.DoMulti(t.Context(), cmds...) {
		require.NoError(t, reply.Error())
	}
	return time.Since(begin)
}

func TestDelayMakesAnswersLateWithoutThrottlingThePipeline(t *testing.T) {
	link, c := client(t, answered)
	const delay, many = 500 * time.Millisecond, 5000
	plain := exchange(t, c, many)

	link.Delay(delay)
	one := exchange(t, c, 1)
	all := exchange(t, c, many)
	t.Logf("%d commands: %v, with delay %v; one command: %v", many, plain, all, one)
	require.GreaterOrEqual(t, one, delay)
	require.GreaterOrEqual(t, all, delay)
	require.Less(t, all, plain+5*delay, "a delay per command or per read would add far more")
}

func TestClientTimesOutInABlackHoleAndReconnectsAfterIt(t *testing.T) {
	link, c := client(t, 2*time.Second)
	await.True(t, func() bool {
		return c.Do(t.Context(), c.B().Incr().Key("n").Build()).Error() == nil
	})
	link.BlackHole(true)
	err := c.Do(t.Context(), c.B().Incr().Key("n").Build()).Error()
	require.Error(t, err)
	link.BlackHole(false)
	await.True(t, func() bool {
		return c.Do(t.Context(), c.B().Get().Key("n").Build()).Error() == nil
	})
	require.Greater(t, link.Dials(), 1)
}

func TestLostReplyOfAnExecutedCommand(t *testing.T) {
	link, c := client(t, answered)
	exchange(t, c, 1)
	link.CutRepliesAfter(0)
	require.Error(t, c.Do(t.Context(), c.B().Incr().Key("n").Build()).Error())
	n, err := c.Do(t.Context(), c.B().Get().Key("n").Build()).AsInt64()
	require.NoError(t, err)
	require.Equal(t, int64(2), n, "executed, although the client saw an error")
}

// BenchmarkExchange shows what a healthy link costs.
func BenchmarkExchange(b *testing.B) {
	for name, dialer := range map[string]dialFunc{"link=no": nil, "link=yes": faultconn.NewLink().Dial} {
		b.Run(name, func(b *testing.B) {
			c := dial(b, dialer, answered)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Do(b.Context(), c.B().Ping().Build()).Error(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
