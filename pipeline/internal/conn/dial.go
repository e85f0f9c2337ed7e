package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/oneline"
)

// Master says where a master is and how to connect to it.
type Master struct {
	Address string               // for people: errors and statistics
	Option  rueidis.ClientOption // one InitAddress; open overrides what the safety of locks rests on
}

// MasterError says why a master gave no vote.
type MasterError struct {
	Master string // its address as configured, without credentials
	Err    error
}

// Error returns one line, also if user code (a dialler) returned joined errors.
func (e MasterError) Error() string { return e.Master + ": " + oneline.Text(e.Err) }
func (e MasterError) Unwrap() error { return e.Err }

// A connection needs user code: DialCtxFn, AuthCredentialsFn, and what Dialer and TLSConfig call.
// User code may block and ignore its ctx. So each call has its own goroutine, which is left behind
// when the time is up (within). A late result is thrown away. At most MostCalls of each function are
// under way for a master (Limited).

const (
	// MostCalls may be under way at once: the master's, its tracker's and two that were left behind.
	MostCalls = 4
	// grace is the time from the end of a call's ctx until the call is left behind. It keeps the
	// error of a call that observes its ctx.
	grace = 500 * time.Millisecond
)

// DialTimeout bounds each of the user's functions. It leaves room for name resolution and a TLS
// handshake.
func DialTimeout(timeout time.Duration) time.Duration { return max(2*timeout, time.Second) }

// within returns what call returns, or an error if call has not returned when ctx ends, or grace
// after timeout. A result that comes later goes to late.
func within[T any](ctx context.Context, timeout time.Duration, name string, call func(context.Context) (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	returned := make(chan result, 1)
	callCtx, cancel := context.WithTimeout(ctx, timeout)
	go func() {
		defer cancel()
		value, err := call(callCtx)
		returned <- result{value, err}
	}()
	err := context.DeadlineExceeded
	select {
	case r := <-returned:
		return r.value, r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(timeout + grace):
	}
	go func() {
		if r := <-returned; r.err == nil {
			late(r.value)
		}
	}()
	var none T
	return none, fmt.Errorf("%s has not returned: %w", name, err)
}

// Limited returns the option with its functions wrapped: they refuse a call while MostCalls of them
// have not returned.
func Limited(option rueidis.ClientOption) rueidis.ClientOption {
	connect := option.DialCtxFn
	if connect == nil {
		connect = dialTCP
	}
	dials := make(chan struct{}, MostCalls)
	option.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		select {
		case dials <- struct{}{}:
			defer func() { <-dials }()
			return connect(ctx, address, d, t)
		default:
			return nil, fmt.Errorf("%d calls of DialCtxFn have not returned", MostCalls)
		}
	}
	if credentials := option.AuthCredentialsFn; credentials != nil {
		calls := make(chan struct{}, MostCalls)
		option.AuthCredentialsFn = func(c rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			select {
			case calls <- struct{}{}:
				defer func() { <-calls }()
				return credentials(c)
			default:
				return rueidis.AuthCredentials{}, fmt.Errorf("%d calls of AuthCredentialsFn have not returned", MostCalls)
			}
		}
	}
	return option
}

// dialTCP is the default dialler.
func dialTCP(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil || t == nil {
		return conn, err
	}
	if t.ServerName == "" {
		t = t.Clone()
		t.ServerName, _, _ = net.SplitHostPort(address) // an address that can be dialled can be split
	}
	secured := tls.Client(conn, t)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, handshakeError(err)
	}
	return secured, nil
}

// handshakeError names the likely reason if the server speaks no TLS. Redis takes the greeting for
// the beginning of a command, and waits for its end.
func handshakeError(err error) error {
	if notTLS := (tls.RecordHeaderError{}); errors.Is(err, context.DeadlineExceeded) || errors.As(err, &notTLS) {
		return fmt.Errorf("no TLS handshake, although TCP connects: is it a port without TLS? %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}

// greetingError names the likely reason if a connection without TLS ended before the server
// greeted, or was answered with a TLS alert.
func greetingError(err error) error {
	const alert = `"\x15` // the first byte that resp.Unexpected quotes
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), alert) {
		return fmt.Errorf("connection ended before the server greeted: is it a port with TLS? %w", err)
	}
	return err
}
