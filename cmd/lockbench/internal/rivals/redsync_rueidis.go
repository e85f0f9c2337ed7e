package rivals

import (
	"context"
	"strconv"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/redis/rueidis"
)

// rueidisPool is Redsync's driver over bare rueidis: the same transport as the
// engine's, so that what differs in a comparison is the algorithm. It does what
// Redsync's own driver does, without the compatibility layer in between.
type rueidisPool struct{ client rueidis.Client }

func (p rueidisPool) Get(ctx context.Context) (redsyncredis.Conn, error) {
	return &rueidisConn{p.client, ctx}, nil
}

type rueidisConn struct {
	client rueidis.Client
	ctx    context.Context // of the attempt, captured by Get as the interface demands
}

func (c *rueidisConn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	err := c.client.Do(c.ctx, c.client.B().Set().Key(name).Value(value).Nx().Px(expiry).Build()).Error()
	return err == nil, noNil(err)
}

func (c *rueidisConn) Eval(script *redsyncredis.Script, keysAndArgs ...any) (any, error) {
	words := make([]string, len(keysAndArgs))
	for i, v := range keysAndArgs {
		switch v := v.(type) {
		case string:
			words[i] = v
		case int:
			words[i] = strconv.Itoa(v)
		}
	}
	keys, args := words[:script.KeyCount], words[script.KeyCount:]
	b := c.client.B()
	n, err := c.client.Do(c.ctx, b.Evalsha().Sha1(script.Hash).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()).AsInt64()
	if re, ok := rueidis.IsRedisErr(err); ok && re.IsNoScript() {
		n, err = c.client.Do(c.ctx, b.Eval().Script(script.Src).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()).AsInt64()
	}
	return n, noNil(err)
}

func (c *rueidisConn) Get(name string) (string, error) {
	s, err := c.client.Do(c.ctx, c.client.B().Get().Key(name).Build()).ToString()
	return s, noNil(err)
}

func (c *rueidisConn) Set(name, value string) (bool, error) {
	err := c.client.Do(c.ctx, c.client.B().Set().Key(name).Value(value).Build()).Error()
	return err == nil, err
}

func (c *rueidisConn) PTTL(name string) (time.Duration, error) {
	ms, err := c.client.Do(c.ctx, c.client.B().Pttl().Key(name).Build()).AsInt64()
	return time.Duration(ms) * time.Millisecond, err
}

func (c *rueidisConn) ScriptLoad(script *redsyncredis.Script) error {
	hash, err := c.client.Do(c.ctx, c.client.B().ScriptLoad().Script(script.Src).Build()).ToString()
	if err == nil {
		script.Hash = hash
	}
	return err
}

func (c *rueidisConn) Close() error { return nil } // the client is shared

func noNil(err error) error {
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
}
