package redisfake

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Server is a master that has been up for a year and has no data. It is safe for concurrent use. Close ends it.
type Server struct {
	mu      sync.Mutex // guards the following, and the connections' mutable fields
	data    dataSet
	loaded  map[string]bool // scripts, by SHA-1
	runID   string
	started time.Time // by its clock
	clock   clock
	replica bool
	replID  string // of its data set
	offset  int    // second_repl_offset
	fed     int    // bytes received as a replica
	down    bool
	delay   time.Duration            // of replies
	denied  map[string]bool          // keys that the ACL forbids
	answer  func(words []string) any // set by Answer, or nil
	mangle  Mangler                  // set by Mangle, or nil
	conns   map[*conn]struct{}
	tracked map[string][]*conn // by key: the connections to notify, once, when it changes
	heard   map[string][]*conn // by channel: its subscribers
}

// New returns a master that can be dialled.
func New() *Server {
	s := &Server{denied: make(map[string]bool), conns: make(map[*conn]struct{})}
	s.startLocked(time.Now().Add(-365*24*time.Hour), make(map[string]value))
	return s
}

// startLocked makes the server a new process with the given data, started at the given time.
func (s *Server) startLocked(at time.Time, values map[string]value) {
	s.started, s.runID = at, randomID()
	s.replica, s.replID, s.offset, s.fed = false, randomID(), -1, 0
	s.data = dataSet{values: values, changed: s.notifyLocked, publish: s.publishLocked, now: s.clock.now}
	s.loaded, s.tracked, s.heard = make(map[string]bool), make(map[string][]*conn), make(map[string][]*conn)
}

func randomID() string {
	return fmt.Sprintf("%016x%016x%08x", rand.Uint64(), rand.Uint64(), rand.Uint32())
}

// Dial connects to the server; its signature is that of rueidis.ClientOption.DialCtxFn. It does not block.
func (s *Server) Dial(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, &net.OpError{Op: "dial", Net: "fake", Err: syscall.ECONNREFUSED}
	}
	c := &conn{s: s, changed: sync.NewCond(&s.mu)}
	c.alarm = time.AfterFunc(math.MaxInt64, c.changed.Broadcast)
	s.conns[c] = struct{}{}
	return c, nil
}

// change makes a change under the mutex.
func (s *Server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// Down ends all connections and refuses new ones. Commands already sent may or may not be executed.
func (s *Server) Down() {
	s.change(func() {
		s.down = true
		s.cutLocked()
	})
}

// Up ends Down. The data is unchanged.
func (s *Server) Up() { s.change(func() { s.down = false }) }

// Restart replaces the server process by a new one that is up and has no data.
func (s *Server) Restart() { s.RestartWith(nil) }

func (s *Server) restartLocked(values map[string]value) {
	s.cutLocked()
	s.startLocked(s.clock.now(), values)
	s.down = false
}

// Slow delays every reply by d, including those under way.
func (s *Server) Slow(d time.Duration) {
	s.change(func() {
		s.delay = d
		for c := range s.conns {
			c.changed.Broadcast()
		}
	})
}

// Deny makes the ACL forbid a key, or allow it again.
func (s *Server) Deny(key string, denied bool) { s.change(func() { s.denied[key] = denied }) }

// Answer installs a function that answers commands with a string or an error, and leaves a command to the server with nil.
// It runs under the server's lock.
func (s *Server) Answer(answer func(words []string) any) { s.change(func() { s.answer = answer }) }

// A Mangler returns the bytes to send in place of the nth reply or push of a connection, from 0, and whether the connection
// ends behind them.
type Mangler func(nth int, reply []byte) (sent []byte, end bool)

// Mangle installs a Mangler. It runs under the server's lock.
func (s *Server) Mangle(mangle Mangler) { s.change(func() { s.mangle = mangle }) }

// Set gives a key a value that does not expire.
func (s *Server) Set(key, value string) { s.change(func() { s.data.set(key, value, 0) }) }

// Value returns the value of a key, or "".
func (s *Server) Value(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.data.find(key)
	return v.text
}

// Delete deletes a key.
func (s *Server) Delete(key string) { s.change(func() { s.data.delete(key) }) }

// Keys returns all keys, sorted.
func (s *Server) Keys() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.data.values {
		if _, there := s.data.find(key); there {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Close ends all connections.
func (s *Server) Close() { s.Down() }

func (s *Server) cutLocked() {
	for c := range s.conns {
		c.endLocked(io.EOF)
	}
}

// notifyLocked is client tracking: it notifies the connections that have read the key.
func (s *Server) notifyLocked(key string) {
	for _, c := range s.tracked[key] {
		c.replyLocked(push{"invalidate", []string{key}})
	}
	delete(s.tracked, key)
}

// publishLocked is PUBLISH.
func (s *Server) publishLocked(channel, message string) (receivers int) {
	for _, c := range s.heard[channel] {
		if c.err == nil {
			c.replyLocked(push{"message", channel, message})
			receivers++
		}
	}
	return receivers
}
