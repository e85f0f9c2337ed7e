package faultconn

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Echo returns the address of a server whose connections give back what they get. It ends with the test, and so do they.
func Echo(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		conns.Wait()
	})
	return listener.Addr().String()
}
