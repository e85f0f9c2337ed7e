package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/guard"
	"muxlock/internal/resp"
)

// A Session is one connection to one master, and dies with it. Its rueidis client may dial once.
// rueidis would silently dial again after a connection has ended: a batch could reach a master that
// was restarted empty in between, and be granted there. With one connection per client, every reply
// of a session comes from the server process that the probe has checked.
//
// rueidis dials, greets and authenticates. Then the wire takes the connection over. The client is
// kept only to be closed: it stays in its synchronous mode, where it neither reads nor writes by
// itself. A session that receives pushes (DialTracked) stays rueidis's; it carries no votes.
type Session struct {
	Client  rueidis.Client
	Conn    net.Conn
	Release func() bool // lets the session outlive the ctx of Dial; false if the ctx has ended
	wire                // of a session for batches, not for pushes
}

// errRedial is returned to rueidis when it dials a second time.
var errRedial = errors.New("connection has ended")

// IdlePing is how long a tracker's connection may be idle before the tracker asks for a sign of life.
const IdlePing = time.Second

// Dial opens a session for batches. Its owner writes and reads it. The server may take longer than timeout to greet: up to greeting.
func Dial(ctx context.Context, option rueidis.ClientOption, timeout, greeting time.Duration) (*Session, error) {
	option.DisableCache = true
	option.RingScaleEachConn = 1 // never used
	option.ReadBufferEachConn = 4 << 10
	option.WriteBufferEachConn = 4 << 10
	s, err := open(ctx, option, timeout, max(timeout, greeting))
	if err != nil {
		return nil, resp.WithoutArguments(err)
	}
	s.wire, err = takeOver(s.Conn, timeout)
	if err != nil {
		s.Release()
		s.Close()
		return nil, err
	}
	return s, nil
}

// DialTracked opens a session that calls onPush from a goroutine of its own. A push has the names
// of changed keys that were read after CLIENT CACHING YES. nil means that all keys may have changed,
// or that the connection has ended. The error is rueidis.ErrNoCache if the server refuses tracking,
// or has only RESP2: there Redis accepts CLIENT TRACKING and never pushes.
// No error may be shown: it may quote arguments.
func DialTracked(ctx context.Context, option rueidis.ClientOption, timeout time.Duration, onPush func([]rueidis.RedisMessage)) (*Session, error) {
	option.DisableCache = false
	option.ClientTrackingOptions = []string{"OPTIN"}
	option.OnInvalidations = onPush
	option.RingScaleEachConn = 2 // one batch at a time
	option.ReadBufferEachConn = 16 << 10
	option.WriteBufferEachConn = 16 << 10
	return open(ctx, option, timeout, timeout)
}

// open connects and greets the master. It returns when ctx ends, or within DialTimeout, once more
// for AuthCredentialsFn, and greeting. Until Release is called, the end of ctx ends the connection.
func open(ctx context.Context, option rueidis.ClientOption, timeout, greeting time.Duration) (*Session, error) {
	s := &Session{Release: func() bool { return ctx.Err() == nil }}
	var dialled atomic.Bool
	connect := option.DialCtxFn // written by Limited
	option.DialCtxFn = func(_ context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if dialled.Swap(true) {
			return nil, errRedial
		}
		conn, err := within(ctx, DialTimeout(timeout), "DialCtxFn", func(ctx context.Context) (net.Conn, error) {
			return connect(ctx, address, d, t)
		}, func(late net.Conn) { late.Close() })
		if err != nil {
			return nil, err
		}
		s.Conn = conn
		s.Release = context.AfterFunc(ctx, func() { conn.Close() })
		return guard.Conn(conn), nil
	}
	if fn := option.AuthCredentialsFn; fn != nil {
		// RefreshAfter is taken out: re-authentication in the background would share the
		// connection, and put rueidis into its pipelined mode, where nothing ends a read from a
		// hung server. Each new connection asks for new credentials.
		option.AuthCredentialsFn = func(c rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			credentials, err := within(ctx, DialTimeout(timeout), "AuthCredentialsFn", func(context.Context) (rueidis.AuthCredentials, error) {
				return fn(c)
			}, func(rueidis.AuthCredentials) {})
			credentials.RefreshAfter = time.Time{}
			return credentials, err
		}
	}
	option.ForceSingleClient = true // never follow a cluster
	option.Dialer.KeepAlive = -1    // no PINGs of rueidis's own: they would end the synchronous mode, and an ACL need not allow them
	option.DisableRetry = true
	option.PipelineMultiplex = -1                               // one connection
	option.BlockingPipeline = -1                                // never a second one for a large batch
	option.ConnWriteTimeout = greeting                          // for a whole batch, write and read; for a PING
	option.Dialer.Timeout = max(DialTimeout(timeout), greeting) // with the greeting; connect has its own bound

	var err error
	if s.Client, err = rueidis.NewClient(option); err != nil {
		s.Release()
		s.Close()
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case s.Conn != nil && option.TLSConfig == nil && FirstWord(err) == "":
			err = greetingError(err)
		}
		return nil, err
	}
	return s, nil
}

// Close ends the connection at once: bytes that have not left this machine are thrown away rather
// than delivered late.
func (s *Session) Close() {
	if s.Conn != nil {
		conn := s.Conn
		if t, ok := conn.(*tls.Conn); ok {
			conn = t.NetConn()
		}
		if t, ok := conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // fails only on a connection that has ended
		}
		s.Conn.Close()
	}
	if s.Client != nil {
		s.Client.Close()
	}
}
