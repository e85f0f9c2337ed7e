package wire_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/internal/redisserver"
	"muxlock/internal/resp"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItLogsInAndSelects(t *testing.T) {
	server := redistest.MastersWith(t, 1, redisserver.Options{Password: "pa55"})[0]
	c, err := wire.Dial(t.Context(), "redis://:pa55@"+server.Addr()+"/3")
	require.NoError(t, err)
	defer c.Close()
	reply, err := c.Call("CLIENT", "LIST")
	require.NoError(t, err)
	require.Contains(t, reply[0].Text, "db=3")
	_, err = c.Call("GETT")
	require.ErrorAs(t, err, new(resp.Error))
	require.ErrorContains(t, err, "GETT: unknown command")
	_, err = wire.Dial(t.Context(), "redis://:wrong@"+server.Addr())
	require.ErrorContains(t, err, "WRONGPASS")
}

func TestDialEndsWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := silent.Accept(); err == nil {
			defer c.Close()
			_, _ = c.Read(make([]byte, 1)) // the login has come
			cancel()
			_, _ = c.Read(make([]byte, 100))
		}
	}()
	_, err = wire.Dial(ctx, "redis://:secret@"+silent.Addr().String())
	require.ErrorIs(t, err, context.Canceled)
}
