package redistest

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
)

// Stranger returns the address of a server that refuses every command as unknown, and quotes its arguments as Redis does.
// The server ends with the test.
func Stranger(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go refuseAll(conn)
		}
	}()
	return l.Addr().String()
}

// refuseAll answers commands until the client closes.
func refuseAll(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		words, err := resp.ReadList(in)
		if err != nil {
			return
		}
		answer := fmt.Sprintf("-ERR unknown command '%s', with args beginning with: ", words[0].Text)
		for _, word := range words[1:] {
			answer += "'" + word.Text + "' "
		}
		if _, err := conn.Write([]byte(answer + "\r\n")); err != nil {
			return
		}
	}
}
