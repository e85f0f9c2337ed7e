package main

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestTheCommandIsStartedAfterFiveRoundTrips(t *testing.T) {
	t.Parallel()
	const want = 5 // connect, greeting, probe, trial, lock
	var mu sync.Mutex
	var trips [3]int // to each master, until the request for the lock
	var found [3]bool
	var addrs []string
	for i, addr := range redistest.Addrs(redistest.Masters(t, 3)) {
		trips[i] = 1 // the first connection
		addrs = append(addrs, proxy(t, addr, func() func([]byte, bool) bool {
			asking := false // the last piece was a request: one after a reply begins a round trip
			return func(piece []byte, request bool) bool {
				mu.Lock()
				defer mu.Unlock()
				if request && !asking && !found[i] {
					trips[i]++
				}
				asking = request
				found[i] = found[i] || request && bytes.Contains(piece, []byte("\r\nthe-name\r\n"))
				return true
			}
		}))
	}
	bare.ok(t, "exec the-name --new-masters --master-timeout 2s --masters "+strings.Join(addrs, ",")+" -- true")
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, [3]bool{true, true, true}, found)
	require.Equal(t, [3]int{want, want, want}, trips)
}

// proxy returns the address of a proxy to a master. connection is called for each connection, and what it returns for each
// piece of that, from two goroutines; false drops the piece.
func proxy(t *testing.T, master string, connection func() (passes func(piece []byte, request bool) bool)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
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
			passes := connection()
			pass := func(to, from net.Conn, request bool) {
				defer to.Close()
				for buf := make([]byte, 64<<10); ; {
					n, err := from.Read(buf)
					if err != nil {
						return
					}
					if passes(buf[:n], request) {
						_, _ = to.Write(buf[:n]) // else the other direction ends, too
					}
				}
			}
			running.Go(func() { pass(server, client, true) })
			running.Go(func() { pass(client, server, false) })
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return l.Addr().String()
}
