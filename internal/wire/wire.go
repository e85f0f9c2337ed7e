// Package wire has a bare connection to one master, for loads, faults and measurements without a client
// library between them and the socket. Other code uses a client library.
package wire

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/address"
	"muxlock/internal/resp"
)

// Conn is a connection that is logged in. Not safe for concurrent use, except that one goroutine
// may write while another reads In.
type Conn struct {
	net.Conn
	In *bufio.Reader
}

// Dial connects and logs in, as the address says. It blocks until that is done or ctx ends.
func Dial(ctx context.Context, master string) (*Conn, error) {
	opt, err := address.Parse(master, rueidis.ClientOption{})
	if err != nil {
		return nil, err
	}
	return Connect(ctx, opt)
}

// Connect is Dial with the options of one master. It logs in with their Username and Password.
func Connect(ctx context.Context, opt rueidis.ClientOption) (*Conn, error) {
	connect := opt.DialCtxFn // also of unix://
	if connect == nil {
		connect = address.Dial
	}
	nc, err := connect(ctx, opt.InitAddress[0], &opt.Dialer, opt.TLSConfig)
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

// Ask sends one command over a connection of its own. It blocks until that is answered, for at most
// limit, or until ctx ends.
func Ask(ctx context.Context, master string, limit time.Duration, words ...string) ([]resp.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := Dial(ctx, master)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
	return c.Call(words...)
}

// Call sends one command and reads its reply. It returns an error reply as a resp.Error.
func (c *Conn) Call(words ...string) ([]resp.Reply, error) {
	if _, err := c.Write(resp.AppendCommand(nil, words...)); err != nil {
		return nil, err
	}
	reply, err := resp.ReadList(c.In)
	if err == nil && len(reply) == 1 {
		err = reply[0].Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", words[0], err)
	}
	return reply, nil
}
