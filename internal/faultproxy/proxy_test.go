package faultproxy

import (
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/testing/faultconn"
)

// server listens until the test ends.
func server(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

// beforeEcho returns a proxy before a server that answers every byte with itself.
func beforeEcho(t *testing.T) *Proxy {
	t.Helper()
	p, err := Listen(faultconn.Echo(t), clock.NewAlarms())
	require.NoError(t, err)
	return p
}

// dialAs connects to a proxy as a client of its own.
func dialAs(t *testing.T, client int, p *Proxy) net.Conn {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8")
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ClientAddr(client))}}
	c, err := d.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func ask(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Write([]byte("ping"))
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 4))
	require.NoError(t, err)
}

func TestACutEndsConnectionsInTheMiddleOfBytes(t *testing.T) {
	ln := server(t)
	p, err := Listen(ln.Addr().String(), clock.NewAlarms())
	require.NoError(t, err)
	passed := 0
	for range 20 {
		c := dialAs(t, 1, p)
		accepted, err := ln.Accept()
		require.NoError(t, err)
		defer accepted.Close()
		_, err = c.Write([]byte("x"))
		require.NoError(t, err)
		_, err = accepted.Read(make([]byte, 1)) // the connection stands
		require.NoError(t, err)
		p.Cut()
		_, err = c.Write(make([]byte, 1000))
		require.NoError(t, err)
		got, err := io.ReadAll(accepted) // to the end of the connection
		require.NoError(t, err)
		require.Less(t, len(got), 1000)
		passed += len(got)
		_, err = io.ReadAll(c)
		require.NoError(t, err, "the client's end, too")
	}
	require.Positive(t, passed, "a part of the bytes passes")
}

func TestACutSparesLaterConnections(t *testing.T) {
	p := beforeEcho(t)
	p.Cut()
	ask(t, dialAs(t, 1, p))
}

func TestABlackHoleHoldsTheBytesOfOneClientUntilItEnds(t *testing.T) {
	p := beforeEcho(t)
	one, other := dialAs(t, 1, p), dialAs(t, 300, p)
	ask(t, one)
	p.Blackhole(ClientAddr(1), true)
	_, err := one.Write([]byte("late"))
	require.NoError(t, err)
	for range 20 { // the other's round trips take longer than the bytes
		ask(t, other)
	}
	require.NoError(t, one.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	buf := make([]byte, 4)
	_, err = one.Read(buf)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, one.SetReadDeadline(time.Time{}))
	p.Blackhole(ClientAddr(1), false)
	_, err = io.ReadFull(one, buf)
	require.NoError(t, err)
	require.Equal(t, "late", string(buf))
}

func TestWhatAClientSentIntoABlackHoleArrivesAfterItHasClosed(t *testing.T) {
	ln := server(t)
	p, err := Listen(ln.Addr().String(), clock.NewAlarms())
	require.NoError(t, err)
	p.Blackhole(ClientAddr(1), true)
	c := dialAs(t, 1, p)
	_, err = c.Write([]byte("release"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	accepted, err := ln.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	p.Blackhole(ClientAddr(1), false)
	text, err := io.ReadAll(accepted)
	require.NoError(t, err)
	require.Equal(t, "release", string(text))
}
