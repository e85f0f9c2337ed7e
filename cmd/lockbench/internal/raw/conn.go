package raw

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"muxlock/cmd/lockbench/internal/masters"
)

// release is compare-and-delete, as every lock library sends it.
const release = `if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) else return 0 end`

// conn is one connection with everything it will ever send. One goroutine uses it.
type conn struct {
	net.Conn
	sets, releases       []byte // one batch each, encoded once
	setReplies, relReply []byte // what the server must answer
	buf                  []byte
}

// dial connects to one master, logs in, loads the script and encodes the batches.
func dial(ctx context.Context, master string, id int, ttl time.Duration) (*conn, error) {
	opt, err := masters.Option(master)
	if err != nil {
		return nil, err
	}
	nc, err := dialOption(ctx, opt)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc}
	if err := c.prepare(opt, id, ttl); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

func dialOption(ctx context.Context, opt rueidis.ClientOption) (net.Conn, error) {
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

func (c *conn) prepare(opt rueidis.ClientOption, id int, ttl time.Duration) error {
	in := bufio.NewReader(c)
	switch {
	case opt.Username != "":
		if err := c.call(in, "AUTH", opt.Username, opt.Password); err != nil {
			return err
		}
	case opt.Password != "":
		if err := c.call(in, "AUTH", opt.Password); err != nil {
			return err
		}
	}
	if opt.SelectDB != 0 {
		if err := c.call(in, "SELECT", strconv.Itoa(opt.SelectDB)); err != nil {
			return err
		}
	}
	if err := c.call(in, "SCRIPT", "LOAD", release); err != nil {
		return err
	}
	sha, err := in.ReadString('\n') // the line after "$40"
	if err != nil {
		return err
	}
	sha = strings.TrimSpace(sha)

	token, ms := rand.Text(), strconv.FormatInt(ttl.Milliseconds(), 10)
	for i := range Depth {
		key := fmt.Sprintf("lockbench:raw:%s:%d:%d", token[:8], id, i)
		c.sets = encode(c.sets, "SET", key, token, "NX", "PX", ms)
		c.releases = encode(c.releases, "EVALSHA", sha, "1", key, token)
	}
	c.setReplies = bytes.Repeat([]byte("+OK\r\n"), Depth)
	c.relReply = bytes.Repeat([]byte(":1\r\n"), Depth)
	c.buf = make([]byte, len(c.setReplies))
	return nil
}

// call sends one command and reads the first line of its reply.
func (c *conn) call(in *bufio.Reader, words ...string) error {
	if _, err := c.Write(encode(nil, words...)); err != nil {
		return err
	}
	line, err := in.ReadString('\n')
	if err == nil && line[0] == '-' {
		err = fmt.Errorf("%s: %s", words[0], strings.TrimSpace(line[1:]))
	}
	return err
}

// cycle acquires and releases Depth keys and returns when the second half began.
func (c *conn) cycle() (middle time.Time, err error) {
	if err := c.batch(c.sets, c.setReplies); err != nil {
		return middle, fmt.Errorf("SET: %w", err)
	}
	middle = time.Now()
	if err := c.batch(c.releases, c.relReply); err != nil {
		return middle, fmt.Errorf("EVALSHA: %w", err)
	}
	return middle, nil
}

// batch is one write and the reads until every reply is there.
func (c *conn) batch(commands, want []byte) error {
	if _, err := c.Write(commands); err != nil {
		return err
	}
	got := c.buf[:len(want)]
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("a reply was not %q: %q", want[:bytes.IndexByte(want, '\n')+1], got)
	}
	return nil
}

// encode appends one command in RESP.
func encode(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}
