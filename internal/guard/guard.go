// Package guard stands between a server and rueidis. rueidis trusts what it reads. It allocates as much as a length
// announces, and recurses into nested lists. A negative length or an unasked reply makes it panic, in a goroutine of its
// own. So any server at a master's address could end the process. A guarded connection ends instead, before rueidis
// sees those bytes.
//
// A guard also keeps what rueidis would lose: the error with which a server says why it closes the connection. And it
// answers a refused HELLO as a server of RESP2 does. rueidis expects "unknown command" there; proxies have other words.
package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/redis/rueidis"

	"muxlock/internal/address"
)

// A conn counts the commands written and the replies read. Like rueidis, it has one reader and one writer at a time.
type conn struct {
	net.Conn
	asked atomic.Int64 // commands written in whole
	hello atomic.Int64 // the place of the last HELLO among them, from 1; 0: there was none
	out   stream       // owned by the writer
	in    stream       // owned by the reader
	err   error        // of an earlier Read; owned by the reader
}

// Conn returns c with a guard. It lets through replies to the commands written through it, and pushes about keys.
func Conn(c net.Conn) net.Conn {
	g := &conn{Conn: c}
	g.in.asked, g.in.hello = &g.asked, &g.hello
	return g
}

// Option returns the option with its connections guarded.
func Option(option rueidis.ClientOption) rueidis.ClientOption {
	connect := option.DialCtxFn
	if connect == nil {
		connect = address.Dial
	}
	option.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		c, err := connect(ctx, address, d, t)
		if err != nil {
			return nil, err
		}
		return Conn(c), nil
	}
	return option
}

// Write counts the commands before it writes them: the reply to one may be read before Write returns. If the server has
// closed the connection already, the first Write takes the bytes: rueidis then reads why, and the end.
func (c *conn) Write(b []byte) (int, error) {
	before := c.out.values
	at := max(0, bytes.Index(b, []byte("$5\r\nHELLO\r\n$1\r\n")))
	_, err := c.out.scan(b[:at])
	if at > 0 {
		c.hello.Store(c.out.values + 1)
	}
	if err == nil {
		_, err = c.out.scan(b[at:])
	}
	if err != nil {
		return 0, fmt.Errorf("not a command: %w", err)
	}
	c.asked.Add(c.out.values - before)
	n, err := c.Conn.Write(b)
	if before == 0 && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
		return len(b), nil
	}
	return n, err
}

// Read returns bytes that rueidis can bear, or an error that matches resp.ErrProtocol. If the connection ends after an
// error reply, Read's error is also that resp.Error.
func (c *conn) Read(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(b)
	b, c.err = c.in.scan(b[:n])
	if c.err != nil {
		c.Close()
		return 0, c.err
	}
	if err != nil && c.in.said != "" {
		err = fmt.Errorf("%w (%w)", c.in.said, err)
	}
	return len(b), err
}
