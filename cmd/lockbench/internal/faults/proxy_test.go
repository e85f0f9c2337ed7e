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
)

// echo answers every byte with itself and ends with the test.
func echo(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return ln.Addr().String()
}

func spanOf(t *testing.T, text string) bench.Span {
	t.Helper()
	s, err := bench.ParseSpan(text)
	require.NoError(t, err)
	return s
}

// proxied connects to an echo through a proxy. Both are closed with the test.
func proxied(t *testing.T, spans ...bench.Span) (*faultproxy.Remote, net.Conn) {
	line, err := faultproxy.OpenLine(faults.Process)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, line.Close()) })
	p, err := line.Proxy(echo(t))
	require.NoError(t, err)
	p.Delay(spans)
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return p, c
}

// ask makes one round trip.
func ask(c net.Conn) (time.Duration, error) {
	start := time.Now()
	if _, err := c.Write([]byte("ping")); err != nil {
		return 0, err
	}
	_, err := io.ReadFull(c, make([]byte, 4))
	return time.Since(start), err
}

func TestCloseCutsTheConnections(t *testing.T) {
	line, err := faultproxy.OpenLine(faults.Process)
	require.NoError(t, err)
	p, err := line.Proxy(echo(t))
	require.NoError(t, err)
	p.Delay([]bench.Span{spanOf(t, "1m")})
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("ping"))
	require.NoError(t, err)
	require.NoError(t, line.Close()) // waits for no reply
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
}

func TestProxyKeepsTheOrderOfRepliesUnderRandomDelays(t *testing.T) {
	_, c := proxied(t, spanOf(t, "exp(3ms)"))
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
	_, plain := proxied(t)
	for _, delay := range []time.Duration{300 * time.Microsecond, time.Millisecond} {
		_, late := proxied(t, bench.Fixed(delay))
		fastest, fastestLate, extra := time.Hour, time.Hour, time.Hour
		for i := 0; i < 50 || extra >= 150*time.Microsecond && i < 2000; i++ {
			took, err := ask(plain)
			require.NoError(t, err)
			fastest = min(fastest, took)
			took, err = ask(late)
			require.NoError(t, err)
			fastestLate = min(fastestLate, took)
			extra = fastestLate - fastest - delay
		}
		require.InDelta(t, 0, extra, float64(150*time.Microsecond), "%v was %v too long", delay, extra)
	}
}

func TestADelayIsOfRepliesThatArriveFromThenOn(t *testing.T) {
	const delay = 500 * time.Millisecond
	p, c := proxied(t)
	_, err := ask(c)
	require.NoError(t, err)
	p.Delay([]bench.Span{spanOf(t, "300ms"), spanOf(t, "200ms")})
	took, err := ask(c)
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, delay)
	p.Delay([]bench.Span{})
	least := time.Hour // one may be late by chance
	for range 20 {
		took, err = ask(c)
		require.NoError(t, err)
		least = min(least, took)
	}
	require.Less(t, least, delay)
}

// throughput returns the replies a second of an echo behind a delay, with window requests under way.
func throughput(t *testing.T, c net.Conn, delay time.Duration, window int) float64 {
	start, replies := time.Now(), 0
	for range window {
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		time.Sleep(delay / time.Duration(window)) // keeps them apart on the wire
	}
	buf := make([]byte, window)
	for time.Since(start) < 10*delay {
		n, err := c.Read(buf)
		require.NoError(t, err)
		replies += n
		_, err = c.Write(buf[:n])
		require.NoError(t, err)
	}
	took := time.Since(start)
	_, err := io.ReadFull(c, buf)
	require.NoError(t, err)
	return float64(replies) / took.Seconds()
}

func TestThroughputOfALineGrowsWithTheWindow(t *testing.T) {
	const delay = 50 * time.Millisecond
	_, c := proxied(t, bench.Fixed(delay))
	for _, window := range []int{1, 8, 64} {
		most, best := float64(window)/delay.Seconds(), 0.0
		for range 20 { // the machine may be busy with others: one calm moment is enough
			if best = max(best, throughput(t, c, delay, window)); best > most/2 {
				break
			}
		}
		require.Greater(t, best, most/2, "window %d", window)
		require.LessOrEqual(t, best, most, "window %d", window)
	}
}
