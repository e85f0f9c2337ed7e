package guard

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
)

// A server is a connection whose other end ignores commands and sends text, in pieces of one size.
type server struct {
	net.Conn
	text   *bytes.Reader
	pieces int
	closed atomic.Bool // rueidis closes in two goroutines
}

func (s *server) Write(b []byte) (int, error) { return len(b), nil }
func (s *server) Read(b []byte) (int, error)  { return s.text.Read(b[:min(len(b), s.pieces)]) }
func (s *server) Close() error                { s.closed.Store(true); return nil }

// sizes are those of the pieces in which a text comes. A long one is there for its length; it would take the most time in
// pieces of a few bytes, and they show no more of it than of the others.
func sizes(text string) []int {
	if len(text) > 32<<10 {
		return []int{4093, 1 << 20}
	}
	return []int{1, 2, 7, 1 << 20}
}

// read returns what a guard lets through of text, as the answer to so many commands, and the error at its end.
func read(t testing.TB, text string, pieces, commands int) ([]byte, error) {
	s := &server{text: bytes.NewReader([]byte(text)), pieces: pieces}
	c := Conn(s)
	for range commands {
		for _, part := range []string{"*2\r", "\n$4\r\nPT", "TL\r\n$3\r\na\r\n\r\n"} {
			_, err := c.Write([]byte(part))
			require.NoError(t, err)
		}
	}
	var got bytes.Buffer
	got.Grow(len(text) + bytes.MinRead) // growing it copies more than is read
	_, err := got.ReadFrom(c)
	if errors.Is(err, io.EOF) { // with what the server said last
		err = nil
	}
	require.Equal(t, err != nil, s.closed.Load(), "%q: %v", text, err)
	if err != nil {
		_, again := c.Read(make([]byte, 1))
		require.ErrorIs(t, again, resp.ErrProtocol)
	}
	return got.Bytes(), err
}

func invalidated(key string) string {
	return ">2\r\n$10\r\ninvalidate\r\n" + string(resp.AppendCommand(nil, key))
}

func TestRepliesAndPushesPass(t *testing.T) {
	for _, text := range []string{
		"+OK\r\n:-12\r\n", "_\r\n$-1\r\n", "*-1\r\n$0\r\n\r\n", "#t\r\n,1.5\r\n", "=5\r\ntxt:a\r\n!3\r\nERR\r\n", "-ERR no\r\n(123\r\n",
		"%2\r\n+proto\r\n:3\r\n$7\r\nmodules\r\n*0\r\n*2\r\n*1\r\n+a\r\n~1\r\n_\r\n", "+a\rb\r\n+unsubscribe\r\n",
		invalidated("a") + "+OK\r\n" + invalidated("b") + ":1\r\n" + invalidated("c"), ">2\r\n+invalidate\r\n_\r\n",
		"$4194200\r\n" + strings.Repeat("x", 4194200) + "\r\n", "*65536\r\n" + strings.Repeat("_\r\n", 65536),
		strings.Repeat("*1\r\n", 8) + "_\r\n",
	} {
		for _, pieces := range sizes(text) {
			got, err := read(t, text, pieces, 2)
			require.NoError(t, err, "%.80q", text)
			require.Equal(t, text, string(got))
		}
	}
}

func TestWhatWouldHarmRueidisEndsTheConnection(t *testing.T) {
	for _, text := range []string{
		"$-2\r\n", "*-2\r\n", "%-1\r\n", ">-1\r\n", "~-1\r\n", "$2147483648\r\n", "$4194304\r\n", "*65537\r\n", "%32769\r\n", "%9223372036854775807\r\n", "$?\r\n", "*?\r\n", "$\r\n", "$+1\r\n",
		"*40000\r\n*40000\r\n", strings.Repeat("*1\r\n", 9), "|1\r\n+a\r\n+b\r\n", ".\r\n", ";1\r\n", "HTTP/1.1 400 Bad Request\r\n", "\r\n", "\x00",
		"+OK\n", "\n", ":1\n", ":x\r\n", ":\r\n", ":9223372036854775808\r\n", "_a\r\n", "_ab", "#true\r\n", "#tab", "$1\r\nabc", "$1\r\na\rb", "$0\r\n\n\n", "+" + strings.Repeat("x", 64<<10) + "\r\n", ":" + strings.Repeat("0", 40) + "1\r\n",
		">0\r\n", ">1\r\n:1\r\n", ">1\r\n*1\r\n+a\r\n", ">1\r\n$-1\r\n", ">3\r\n+subscribe\r\n+a\r\n:1\r\n", ">3\r\n$12\r\npunsubscribe\r\n+a\r\n:1\r\n", ">3\r\n$12\r\nsunsubscribe\r\n+a\r\n:1\r\n", ">1\r\n$65\r\n",
		"*1\r\n" + invalidated("a"), strings.Repeat("$2000000\r\n"+strings.Repeat("x", 2000000)+"\r\n", 3),
		strings.Repeat("+OK\r\n", 5), strings.Repeat(invalidated("a"), 3) + strings.Repeat("_\r\n", 5),
	} {
		for _, pieces := range sizes(text) {
			_, err := read(t, text, pieces, 4)
			require.ErrorIs(t, err, resp.ErrProtocol, "%.80q", text)
		}
	}
}

// Between commands the memory is free again: pushes and replies may go on for ever.
func TestBoundsAreThoseOfWhatIsUnderWay(t *testing.T) {
	_, err := read(t, strings.Repeat(invalidated(strings.Repeat("x", 1000)), 10_000), 1<<20, 0)
	require.NoError(t, err)
	s := &server{text: bytes.NewReader([]byte(strings.Repeat("$300000\r\n"+strings.Repeat("x", 300000)+"\r\n", 40))), pieces: 300_011}
	c, b := Conn(s), make([]byte, 300_011)
	for range 40 {
		_, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n"))
		require.NoError(t, err)
		_, err = io.ReadFull(c, b)
		require.NoError(t, err)
	}
}

func TestErrorShowsWhatAnswered(t *testing.T) {
	_, err := read(t, "HTTP/1.1 400 Bad Request\r\n\r\n"+strings.Repeat("x", 200), 1<<20, 1)
	require.ErrorContains(t, err, `"HTTP/1.1 400 Bad Request`)
	require.Less(t, len(err.Error()), 200)
}

// Whatever words a server has for it, rueidis goes on in RESP2, on the same connection.
func TestRefusedHelloIsAnsweredInRESP2(t *testing.T) {
	for _, password := range []string{"", "HELLO"} {
		for _, refusal := range []string{"-ERR protocol version not supported", "-NOPROTO no", "-no", "-ERR unknown command 'HELLO'", "-NOAUTH Authentication required."} {
			server, client := net.Pipe()
			var asked []string // read once ended is closed
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer server.Close()
				for in := bufio.NewReader(server); ; {
					words, err := resp.ReadList(in)
					if err != nil {
						return
					}
					reply := "+OK\r\n"
					switch asked = append(asked, words[0].Text); words[0].Text {
					case "HELLO":
						reply = refusal + "\r\n"
					case "PING":
						reply = "-ERR no\r\n"
					}
					if _, err := server.Write([]byte(reply)); err != nil {
						return
					}
				}
			}()
			c, err := rueidis.NewClient(Option(rueidis.ClientOption{
				InitAddress: []string{"a:1"}, Username: password, Password: password, ForceSingleClient: true, DisableCache: true, DisableRetry: true, SelectDB: 1,
				DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return client, nil },
			}))
			require.NoError(t, err, refusal)
			require.ErrorContains(t, c.Do(t.Context(), c.B().Ping().Build()).Error(), "no", "an error as such")
			c.Close()
			<-ended
			require.Equal(t, password != "", slices.Contains(asked, "AUTH"))
			require.Contains(t, asked, "SELECT")
		}
	}
}

func TestRefusedPasswordIsNoRefusedHello(t *testing.T) {
	s := &server{text: bytes.NewReader([]byte("-WRONGPASS invalid\r\n+OK\r\n+OK\r\n")), pieces: 1 << 20}
	_, err := rueidis.NewClient(Option(rueidis.ClientOption{InitAddress: []string{"a:1"}, ForceSingleClient: true, DisableCache: true, DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
		return s, nil
	}}))
	require.EqualError(t, err, "WRONGPASS invalid")
}

// A server may say why it closes, before it has read what it was sent.
func TestErrorAtTheEndOfAConnectionHasWhatTheServerSaid(t *testing.T) {
	const says = "ERR max number of clients reached"
	for name, end := range map[string]func(*net.TCPConn) error{
		"end":   func(c *net.TCPConn) error { return c.CloseWrite() },
		"reset": func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			connected, ended := make(chan struct{}), make(chan *net.TCPConn, 1)
			go func() {
				if c, err := l.Accept(); err == nil {
					<-connected
					_, _ = c.Write([]byte("-" + says + "\r\n"))
					_ = end(c.(*net.TCPConn))
					ended <- c.(*net.TCPConn)
				}
			}()
			dialled, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			defer dialled.Close()
			close(connected)
			c := Conn(dialled)
			defer (<-ended).Close()
			_, err = c.Write([]byte("*1\r\n$4\r\nPING\r\n"))
			require.NoError(t, err)
			text, err := io.ReadAll(c)
			require.Equal(t, "-"+says+"\r\n", string(text))
			var said resp.Error
			require.ErrorAs(t, err, &said)
			require.EqualError(t, said, says[len("ERR "):])
		})
	}
}

func TestOptionGuardsEveryDialler(t *testing.T) {
	s := &server{text: bytes.NewReader([]byte("$-2\r\n")), pieces: 5}
	_, err := rueidis.NewClient(Option(rueidis.ClientOption{InitAddress: []string{"a:1"}, ForceSingleClient: true, DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
		return s, nil
	}}))
	require.ErrorIs(t, err, resp.ErrProtocol)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("$-2\r\n"))
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	_, err = rueidis.NewClient(Option(rueidis.ClientOption{InitAddress: []string{l.Addr().String()}, ForceSingleClient: true}))
	require.ErrorIs(t, err, resp.ErrProtocol)
}

func (s *server) SetDeadline(time.Time) error { return nil }

// However bytes are cut into pieces, the same pass.
func FuzzPieces(f *testing.F) {
	f.Add("%2\r\n+proto\r\n:3\r\n$7\r\nmodules\r\n*0\r\n"+invalidated("a")+"_\r\n", uint8(2), uint8(3))
	f.Fuzz(func(t *testing.T, text string, pieces, commands uint8) {
		n := 1 + int(pieces)
		got, err := read(t, text, n, int(commands))
		whole, errWhole := read(t, text, len(text)+1, int(commands))
		require.Equal(t, err == nil, errWhole == nil)
		if err == nil {
			require.Equal(t, text, string(got))
			require.Equal(t, text, string(whole))
		}
	})
}
