package pipeline

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMasterIsSilentOnlyWhenItCouldHaveBeenHeard(t *testing.T) {
	const timeout = 200 * time.Millisecond
	sent := time.Now()
	at := func(d time.Duration) time.Time { return sent.Add(d) }
	for _, c := range []struct {
		name               string
		asked, looked, now time.Time
		until              time.Time
		silent             bool
	}{
		{"in time", at(100), time.Time{}, at(100), at(timeout), false},
		{"time is up: a last look", at(timeout), time.Time{}, at(timeout), at(timeout + lastCheck), false},
		{"which was for something earlier", at(timeout), at(-1), at(timeout), at(timeout + lastCheck), false},
		{"nothing was there", at(timeout + lastCheck), sent, at(timeout + lastCheck), time.Time{}, true},
		{"a little late", at(timeout + lastCheck), sent, at(timeout + lastCheck + overslept), time.Time{}, true},
		{"stopped for 50 ms", at(timeout), time.Time{}, at(timeout + 50*time.Millisecond), at(timeout + 100*time.Millisecond), false},
		{"stopped again in the last look", at(timeout + lastCheck), sent, at(timeout + lastCheck + time.Second), at(2*timeout + lastCheck + time.Second), false},
	} {
		until, silent := checkAgain(timeout, sent, c.asked, c.looked, c.now)
		require.Equal(t, c.silent, silent, c.name)
		if !silent {
			require.Equal(t, c.until.Sub(sent), until.Sub(sent), c.name)
		}
	}
}

// A narrowConn is a connection whose socket takes one write for each token in room, once it is full.
type narrowConn struct {
	net.Conn
	full atomic.Bool
	room chan struct{}
	ends chan struct{}
	once sync.Once
}

func (c *narrowConn) Write(b []byte) (int, error) {
	if c.full.Load() {
		select {
		case <-c.room:
		case <-c.ends:
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(b)
}

func (c *narrowConn) Close() error {
	c.once.Do(func() { close(c.ends) })
	return c.Conn.Close()
}

func TestMasterWhoseSocketTakesNoMoreIsSetAsideAfterItHasAnsweredAll(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		var narrow *narrowConn
		b.cfg.Masters[2].Option.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, s *tls.Config) (net.Conn, error) {
			c, err := b.fakes[2].dial(ctx, address, d, s)
			narrow = &narrowConn{Conn: c, room: make(chan struct{}), ends: make(chan struct{})}
			return narrow, err
		}
		b.startedAsMeasured()
		m, socket := b.p.masters[2], narrow
		socket.full.Store(true)
		b.mustAcquire("first") // its write waits
		b.mustAcquire("second")
		b.p.mu.Lock()
		require.Len(t, m.flights, 2)
		require.True(t, m.blocked)
		waits := len(m.carried)
		b.p.mu.Unlock()
		for range waits {
			socket.room <- struct{}{}
		}
		time.Sleep(5 * time.Millisecond)
		b.p.mu.Lock()
		require.Len(t, m.flights, 1, "the first is answered")
		b.p.mu.Unlock()
		time.Sleep(testTimeout + lastCheck)
		require.EqualValues(t, 1, b.p.Stats().Masters[2].SetAside)
	})
}
