package faults_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/faults"
)

func TestParseNamesWhatIsWrong(t *testing.T) {
	f, err := faults.Parse("delay:2:50ms", 5)
	require.NoError(t, err)
	require.Equal(t, faults.Fault{Kind: faults.Delay, Master: 1, Delay: 50 * time.Millisecond}, f)
	f, err = faults.Parse("stop:5", 5)
	require.NoError(t, err)
	require.Equal(t, faults.Fault{Kind: faults.Stop, Master: 4}, f)

	for _, s := range []string{"", "stop", "stop:0", "stop:6", "stop:x", "stop:1:2", "delay:1", "delay:1:soon", "delay:1:-5ms", "burn:1"} {
		_, err := faults.Parse(s, 5)
		require.ErrorContains(t, err, s)
	}
}

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

func TestProxyDelaysRepliesSideBySide(t *testing.T) {
	const delay = 100 * time.Millisecond
	for _, d := range []time.Duration{0, delay} {
		p, err := faults.NewProxy(echo(t), d)
		require.NoError(t, err)
		c, err := net.Dial("tcp", p.Addr())
		require.NoError(t, err)

		start := time.Now()
		buf := make([]byte, 4)
		for range 10 { // ten requests on their way at once
			_, err = c.Write([]byte("ping"))
			require.NoError(t, err)
			time.Sleep(time.Millisecond) // keeps them apart on the wire
		}
		for range 10 {
			_, err = io.ReadFull(c, buf)
			require.NoError(t, err)
			require.Equal(t, "ping", string(buf))
		}
		took := time.Since(start)
		require.GreaterOrEqual(t, took, d)
		require.Less(t, took, d+2*delay, "replies must be late together, not one after the other")
		require.NoError(t, p.Close())
		_, err = c.Read(buf)
		require.Error(t, err, "Close cuts the connections")
	}
}
