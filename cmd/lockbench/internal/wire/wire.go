// Package wire is a bare connection to one master, for loads and measurements that
// want nothing between them and the socket. Whatever else talks to masters uses a
// client library.
package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"muxlock/cmd/lockbench/internal/masters"
)

// Error is a reply that says that a command failed.
type Error string

func (e Error) Error() string { return string(e) }

// Conn is a connection that is logged in. Not safe for concurrent use, but one
// goroutine may write while another one reads In.
type Conn struct {
	net.Conn
	In *bufio.Reader
}

// Dial connects and logs in as the address says. It blocks until that is done or ctx ends.
func Dial(ctx context.Context, master string) (*Conn, error) {
	opt, err := masters.Option(master)
	if err != nil {
		return nil, err
	}
	nc, err := dial(ctx, opt)
	if err != nil {
		return nil, err
	}
	c := &Conn{nc, bufio.NewReader(nc)}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	if err = c.login(opt); !stop() && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

func dial(ctx context.Context, opt rueidis.ClientOption) (net.Conn, error) {
	var d net.Dialer
	switch addr := opt.InitAddress[0]; {
	case opt.DialCtxFn != nil: // unix://
		return opt.DialCtxFn(ctx, addr, &d, opt.TLSConfig)
	case opt.TLSConfig != nil:
		return (&tls.Dialer{NetDialer: &d, Config: opt.TLSConfig}).DialContext(ctx, "tcp", addr)
	default:
		return d.DialContext(ctx, "tcp", addr)
	}
}

func (c *Conn) login(opt rueidis.ClientOption) error {
	var err error
	switch {
	case opt.Username != "":
		_, err = c.Call("AUTH", opt.Username, opt.Password)
	case opt.Password != "":
		_, err = c.Call("AUTH", opt.Password)
	}
	if err == nil && opt.SelectDB != 0 {
		_, err = c.Call("SELECT", strconv.Itoa(opt.SelectDB))
	}
	return err
}

// Call sends one command and reads its reply, see Read.
func (c *Conn) Call(words ...string) ([]string, error) {
	if _, err := c.Write(Encode(nil, words...)); err != nil {
		return nil, err
	}
	reply, err := Read(c.In)
	if e := Error(""); errors.As(err, &e) {
		err = fmt.Errorf("%s: %w", words[0], err)
	}
	return reply, err
}

// Encode appends one command in RESP.
func Encode(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

// Read reads one reply: a string, a number, or a flat list of them. One that says that
// the command failed is an Error; after any other error the connection is of no use.
func Read(in *bufio.Reader) ([]string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(line[1:])
	switch line[0] {
	case '-':
		return nil, Error(text)
	case '+', ':':
		return []string{text}, nil
	case '$':
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return []string{}, err
		}
		b := make([]byte, n+2)
		if _, err = io.ReadFull(in, b); err != nil {
			return nil, err
		}
		return []string{string(b[:n])}, nil
	case '*':
		n, err := strconv.Atoi(text)
		all := []string{}
		for range n {
			var one []string
			if one, err = Read(in); err != nil {
				break
			}
			all = append(all, one...)
		}
		return all, err
	}
	return nil, fmt.Errorf("not a reply: %q", line)
}
