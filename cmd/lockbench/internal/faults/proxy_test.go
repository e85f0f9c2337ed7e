package faults_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/internal/faultproxy"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

// proxied connects to an echo through a proxy. All are closed with the test.
func proxied(t *testing.T, spans ...bench.Span) (*faultproxy.Line, *faultproxy.Remote, net.Conn) {
	redistest.NeedProcess(t)
	line, err := faultproxy.OpenLine(faults.Process)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, line.Close()) })
	p, err := line.Proxy(faultconn.Echo(t))
	require.NoError(t, err)
	p.Delay(spans)
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return line, p, c
}

// ask makes one round trip.
func ask(t *testing.T, c net.Conn) time.Duration {
	start := time.Now()
	_, err := c.Write([]byte("ping"))
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 4))
	require.NoError(t, err)
	return time.Since(start)
}

func TestCloseCutsTheConnections(t *testing.T) {
	line, _, c := proxied(t, bench.Fixed(time.Minute))
	_, err := c.Write([]byte("ping"))
	require.NoError(t, err)
	require.NoError(t, line.Close()) // waits for no reply
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
}

func TestProxyKeepsTheOrderOfRepliesUnderRandomDelays(t *testing.T) {
	_, _, c := proxied(t, bench.Exp(3*time.Millisecond))
	const count = 200
	go func() {
		for i := range count {
			_, _ = c.Write([]byte{byte(i)})
			time.Sleep(20 * time.Microsecond) // keeps them apart on the wire
		}
	}()
	got := make([]byte, count)
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	for i, b := range got {
		require.Equal(t, byte(i), b)
	}
}

// Of many round trips the fastest is compared: the machine may be busy with others.
func TestProxyIsExactToATenthOfAMillisecond(t *testing.T) {
	_, _, plain := proxied(t)
	for _, delay := range []time.Duration{300 * time.Microsecond, time.Millisecond} {
		_, _, late := proxied(t, bench.Fixed(delay))
		fastest, fastestLate, extra := time.Hour, time.Hour, time.Hour
		for i := 0; i < 50 || extra.Abs() >= 150*time.Microsecond && i < 2000; i++ {
			fastest, fastestLate = min(fastest, ask(t, plain)), min(fastestLate, ask(t, late))
			extra = fastestLate - fastest - delay
		}
		require.Less(t, extra.Abs(), 150*time.Microsecond, "%v was %v too long", delay, extra)
	}
}

func TestADelayIsOfRepliesThatArriveFromThenOn(t *testing.T) {
	const delay = 500 * time.Millisecond
	_, p, c := proxied(t)
	ask(t, c)
	p.Delay([]bench.Span{bench.Fixed(300 * time.Millisecond), bench.Fixed(200 * time.Millisecond)})
	require.GreaterOrEqual(t, ask(t, c), delay)
	p.Delay([]bench.Span{})
	least := time.Hour // one may be late by chance
	for range 20 {
		least = min(least, ask(t, c))
	}
	require.Less(t, least, delay)
}

func TestDelaysOfRepliesOverlap(t *testing.T) {
	const delay = 100 * time.Millisecond
	_, _, c := proxied(t, bench.Fixed(delay))
	least := time.Hour
	for i := 0; i < 20 && least > delay*7/4; i++ { // the machine may be busy with others: one calm moment is enough
		start := time.Now()
		for range 2 {
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
			time.Sleep(delay / 2) // the second reply arrives in the middle of the first delay
		}
		_, err := io.ReadFull(c, make([]byte, 2))
		require.NoError(t, err)
		least = min(least, time.Since(start))
	}
	require.GreaterOrEqual(t, least, delay*3/2)
	require.Less(t, least, delay*7/4)
}
