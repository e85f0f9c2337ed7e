// Package guard stands between a server and rueidis. rueidis trusts what it reads. It allocates as much as a length
// announces, and recurses into nested lists. A negative length or an unasked reply makes it panic, in a goroutine of its
// own. So any server at a master's address could end the process. A guarded connection ends instead, before rueidis
// sees those bytes.
package guard

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// A conn counts the commands written and the replies read. Like rueidis, it has one reader and one writer at a time.
type conn struct {
	net.Conn
	asked atomic.Int64 // commands written in whole
	out   stream       // owned by the writer
	in    stream       // owned by the reader
	err   error        // of an earlier Read; owned by the reader
}

// Conn returns c with a guard. It lets through replies to the commands written through it, and pushes about keys.
func Conn(c net.Conn) net.Conn {
	g := &conn{Conn: c}
	g.in.asked = &g.asked
	return g
}

// Option returns the option with its connections guarded.
func Option(option rueidis.ClientOption) rueidis.ClientOption {
	connect := option.DialCtxFn
	if connect == nil {
		connect = dial
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

// dial is rueidis's own dialler.
func dial(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	if t != nil {
		return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
	}
	return d.DialContext(ctx, "tcp", address)
}

// Write counts the commands before it writes them: the reply to one may be read before Write returns.
func (c *conn) Write(b []byte) (int, error) {
	before := c.out.values
	if err := c.out.scan(b); err != nil {
		return 0, fmt.Errorf("not a command: %w", err)
	}
	c.asked.Add(c.out.values - before)
	return c.Conn.Write(b)
}

// Read returns bytes that rueidis can bear, or an error that matches resp.ErrProtocol.
func (c *conn) Read(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(b)
	if c.err = c.in.scan(b[:n]); c.err != nil {
		c.Close()
		return 0, c.err
	}
	return n, err
}
