package raw

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"time"

	"muxlock/internal/resp"
	"muxlock/internal/wire"
)

// release is the compare-and-delete of every lock library.
const release = `if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) else return 0 end`

// conn is one connection with its encoded batches. One goroutine uses it.
type conn struct {
	*wire.Conn
	sets, releases       []byte // one batch each, encoded once
	setReplies, relReply []byte // expected replies
	buf                  []byte
}

// dial connects to one master, logs in, loads the script and encodes the batches.
func dial(ctx context.Context, master string, id int, ttl time.Duration) (*conn, error) {
	w, err := wire.Dial(ctx, master)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: w}
	if err := c.prepare(id, ttl); err != nil {
		w.Close()
		return nil, err
	}
	return c, nil
}

func (c *conn) prepare(id int, ttl time.Duration) error {
	sha, err := c.Call("SCRIPT", "LOAD", release)
	if err != nil {
		return err
	}
	token, ms := rand.Text(), strconv.FormatInt(ttl.Milliseconds(), 10)
	for i := range Depth {
		key := fmt.Sprintf("lockbench:raw:%s:%d:%d", token[:8], id, i)
		c.sets = resp.AppendCommand(c.sets, "SET", key, token, "NX", "PX", ms)
		c.releases = resp.AppendCommand(c.releases, "EVALSHA", sha[0].Text, "1", key, token)
	}
	c.setReplies = bytes.Repeat([]byte("+OK\r\n"), Depth)
	c.relReply = bytes.Repeat([]byte(":1\r\n"), Depth)
	c.buf = make([]byte, len(c.setReplies))
	return nil
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

// batch writes once and reads until every reply has come.
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
