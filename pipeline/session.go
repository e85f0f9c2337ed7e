package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// A session is one connection to one master, and dies with it. Its rueidis client
// may dial once: rueidis would silently dial again when a connection has ended,
// and a batch could reach a master that was restarted empty in between and be
// granted there. With one connection per client, every reply of a session comes
// from the server process that the probe has looked at.
//
// Only its owner's goroutine speaks through it, one batch at a time. rueidis then
// stays in its synchronous mode: the batch is written and read by that goroutine
// itself, under a socket deadline, with no ring and no hand-over in between
// (BenchmarkRound: 5 % less latency for a lone caller than with AlwaysPipelining,
// and no difference under load). The price is that a batch cut off in the middle
// loses the replies that had come; they become unknown votes. A session that is to hear
// pushes (dialTracked) cannot stay in that mode; it carries no votes.
type session struct {
	client  rueidis.Client
	conn    *wire
	pings   []rueidis.Completed // stand-ins for the commands of a batch; pinned, so they serve again
	release func() bool         // lets the session outlive dial's ctx; false if that has ended
}

// errRedial is what rueidis gets when it wants to dial on its own.
var errRedial = errors.New("connection has ended")

// idlePing is how long a watcher's connection may be silent before rueidis pings it.
const idlePing = time.Second

// dial opens a session for batches, in the synchronous mode.
func dial(ctx context.Context, option rueidis.ClientOption, timeout time.Duration) (*session, error) {
	option.DisableCache = true
	option.RingScaleEachConn = 1 // never used
	option.ReadBufferEachConn = 64 << 10
	option.WriteBufferEachConn = 64 << 10
	option.Dialer.KeepAlive = -1 // no PINGs of rueidis's own: they would end the synchronous mode
	return open(ctx, option, timeout)
}

// dialTracked opens a session that calls heard, from a goroutine of its own, with the
// names of keys that were read after CLIENT CACHING YES and have changed, and with nil
// when they all may have or when the connection has ended. The error is
// rueidis.ErrNoCache if the server refuses tracking. rueidis pings a silent connection.
func dialTracked(ctx context.Context, option rueidis.ClientOption, timeout time.Duration, heard func([]rueidis.RedisMessage)) (*session, error) {
	option.DisableCache = false
	option.ClientTrackingOptions = []string{"OPTIN"}
	option.OnInvalidations = heard
	option.RingScaleEachConn = 2 // one batch and one PING at a time
	option.ReadBufferEachConn = 16 << 10
	option.WriteBufferEachConn = 16 << 10
	option.Dialer.KeepAlive = idlePing
	return open(ctx, option, timeout)
}

// open connects and greets the master. It returns within dialTimeout, once more for
// AuthCredentialsFn, and timeout, or when ctx ends. Until release is called, the end of ctx ends the connection.
func open(ctx context.Context, option rueidis.ClientOption, timeout time.Duration) (*session, error) {
	s := &session{release: func() bool { return ctx.Err() == nil }}
	var dialled atomic.Bool
	connect := option.DialCtxFn // set by limited
	option.DialCtxFn = func(_ context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if dialled.Swap(true) {
			return nil, errRedial
		}
		conn, err := within(ctx, dialTimeout(timeout), "DialCtxFn", func(ctx context.Context) (net.Conn, error) {
			return connect(ctx, address, d, t)
		}, func(late net.Conn) { late.Close() })
		if err != nil {
			return nil, err
		}
		s.conn = &wire{Conn: conn}
		s.release = context.AfterFunc(ctx, func() { conn.Close() })
		return s.conn, nil
	}
	if fn := option.AuthCredentialsFn; fn != nil {
		// Without RefreshAfter: re-authentication in the background would share the
		// connection. New credentials are asked for with each new connection.
		option.AuthCredentialsFn = func(c rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			credentials, err := within(ctx, dialTimeout(timeout), "AuthCredentialsFn", func(context.Context) (rueidis.AuthCredentials, error) {
				return fn(c)
			}, func(rueidis.AuthCredentials) {})
			credentials.RefreshAfter = time.Time{}
			return credentials, err
		}
	}
	option.ForceSingleClient = true // never follow a cluster
	option.DisableRetry = true
	option.PipelineMultiplex = -1     // one connection
	option.BlockingPipeline = -1      // never a second one for a large batch
	option.ConnWriteTimeout = timeout // of a whole batch, write and read; of a PING
	option.Dialer.Timeout = dialTimeout(timeout)

	client, err := rueidis.NewClient(option)
	if err != nil {
		s.client = client
		s.release()
		s.close()
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case s.conn != nil && option.TLSConfig == nil:
			err = greetingError(err)
		}
		return nil, err
	}
	s.client = client
	return s, nil
}

// A wire is a session's socket. It lets a batch that was encoded once go out on all
// connections: rueidis encodes its commands for each connection anew, which with five
// masters was a sixth of the client's CPU time (make profile). So rueidis is asked for
// as many PINGs as the batch has commands, and its one write, of the PINGs, is replaced
// by the batch. It reads the replies as if they were the PINGs'.
type wire struct {
	net.Conn
	batch [][]byte // owned by the session's master; nil between batches
}

// maxCommands of one write keep the PINGs within rueidis's write buffer, which it
// flushes when it is full.
const maxCommands = 4096

// errSplit is returned when rueidis writes stand-ins in more than one piece.
var errSplit = errors.New("stand-ins were split")

// Write sends p, or the batch in its place.
func (w *wire) Write(p []byte) (int, error) {
	if w.batch == nil {
		return w.Conn.Write(p)
	}
	if len(w.batch) == 0 {
		return 0, errSplit
	}
	out := net.Buffers(w.batch)
	w.batch = w.batch[:0]
	var err error
	if len(out) == 1 {
		_, err = w.Conn.Write(out[0])
	} else {
		_, err = out.WriteTo(w.Conn)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// do sends commands in one write and reads their replies into replies.
func (s *session) do(batch [][]byte, commands int, replies []rueidis.RedisResult) []rueidis.RedisResult {
	for len(s.pings) < commands {
		s.pings = append(s.pings, s.client.B().Ping().Build().Pin())
	}
	s.conn.batch = batch
	if commands == 1 {
		replies = append(replies[:0], s.client.Do(context.Background(), s.pings[0]))
	} else {
		replies = append(replies[:0], s.client.DoMulti(context.Background(), s.pings[:commands]...)...)
	}
	s.conn.batch = nil
	return replies
}

// transportError returns the error that ended the connection in the middle of a
// batch, if one did.
func transportError(replies []rueidis.RedisResult) error {
	for i := range replies {
		if err := replies[i].NonRedisError(); err != nil {
			return err
		}
	}
	return nil
}

// close ends the connection at once: what has not left this machine is thrown
// away rather than delivered late.
func (s *session) close() {
	if s.conn != nil {
		conn := s.conn.Conn
		if t, ok := conn.(*tls.Conn); ok {
			conn = t.NetConn()
		}
		if t, ok := conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // fails only on a connection that has ended
		}
		s.conn.Close()
	}
	if s.client != nil {
		s.client.Close()
	}
}
