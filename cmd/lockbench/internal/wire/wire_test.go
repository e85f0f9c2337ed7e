package wire

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/internal/redisserver"
	"muxlock/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRepliesOfEveryShapeAreRead(t *testing.T) {
	for text, want := range map[string][]string{
		"+OK\r\n":                       {"OK"},
		":12\r\n":                       {"12"},
		"$5\r\na\r\nbc\r\n":             {"a\r\nbc"},
		"$0\r\n\r\n":                    {""},
		"$-1\r\n":                       {},
		"*2\r\n$2\r\n17\r\n$1\r\n5\r\n": {"17", "5"},
		"*0\r\n":                        {},
		"*3\r\n:1\r\n+a\r\n$-1\r\n":     {"1", "a"},
	} {
		got, err := Read(bufio.NewReader(strings.NewReader(text)))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	_, err := Read(bufio.NewReader(strings.NewReader("-ERR no\r\n")))
	require.Equal(t, Error("ERR no"), err)
	for _, text := range []string{"", "\n", "\r\n", "$5\r\nab\r\n", "$x\r\n", "*x\r\n", "*2\r\n:1\r\n", "HTTP/1.1\r\n", "+OK"} {
		_, err := Read(bufio.NewReader(strings.NewReader(text)))
		require.Error(t, err, "%q", text)
		require.NotErrorAs(t, err, new(Error), "%q", text)
	}
}

func TestItLogsInAndSelects(t *testing.T) {
	server := redistest.MastersWith(t, 1, redisserver.Options{Password: "pa55"})[0]
	c, err := Dial(t.Context(), "redis://:pa55@"+server.Addr()+"/3")
	require.NoError(t, err)
	defer c.Close()
	reply, err := c.Call("CLIENT", "LIST")
	require.NoError(t, err)
	require.Contains(t, reply[0], "db=3")
	_, err = c.Call("GETT")
	require.ErrorAs(t, err, new(Error))
	require.ErrorContains(t, err, "GETT: ERR")
	_, err = Dial(t.Context(), "redis://:wrong@"+server.Addr())
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
	_, err = Dial(ctx, "redis://:secret@"+silent.Addr().String())
	require.ErrorIs(t, err, context.Canceled)
}
