package main

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// A counter passes connections on to a master. It counts the round trips until a request for a lock of a name.
type counter struct {
	net.Listener
	until string
	mu    sync.Mutex // guards the following
	trips int
	found bool
}

func countTrips(t *testing.T, master, until string) *counter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &counter{Listener: l, until: "\r\n" + until + "\r\n", trips: 1} // the first connection
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", master)
			if err != nil {
				client.Close()
				continue
			}
			asking := false
			running.Go(func() { defer server.Close(); c.pass(server, client, &asking, true) })
			running.Go(func() { defer client.Close(); c.pass(client, server, &asking, false) })
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return c
}

// pass copies one direction. A request after a reply begins a round trip.
func (c *counter) pass(to io.Writer, from io.Reader, asking *bool, requests bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		if n > 0 && !c.found {
			if requests && !*asking {
				c.trips++
			}
			*asking = requests
			c.found = requests && bytes.Contains(buf[:n], []byte(c.until))
		}
		c.mu.Unlock()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

func TestTheCommandIsStartedAfterFiveRoundTrips(t *testing.T) {
	t.Parallel()
	var counters []*counter
	var addrs []string
	for _, addr := range redistest.Addrs(redistest.Masters(t, 3)) {
		c := countTrips(t, addr, "the-name")
		counters, addrs = append(counters, c), append(addrs, c.Addr().String())
	}
	args := []string{"--new-masters", "--master-timeout", "2s", "--masters", strings.Join(addrs, ",")}
	_, stderr, code := muxlock(t, append([]string{"exec", "the-name"}, append(args, "--", "true")...)...)
	require.Zero(t, code, stderr)
	for _, c := range counters {
		c.mu.Lock()
		require.True(t, c.found)
		require.Equal(t, 5, c.trips, "connect, greeting, probe, trial, lock")
		c.mu.Unlock()
	}
}
