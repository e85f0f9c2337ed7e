package main

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

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
