//go:build linux

package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
)

// awaitLine returns when so many processes stand in line for a name.
func (s *set) awaitLine(t *testing.T, name string, waiting int) {
	t.Helper()
	e := s.engine(t)
	require.Eventually(t, func() bool {
		i, err := admin.Inspect(t.Context(), e, name)
		return err == nil && i.Waiting == waiting
	}, limit, 10*time.Millisecond)
}

// Ctrl-Z stops waiters in the same way.
func TestStoppedWaitersLetOthersPass(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	first, second, got := s.hold(t, "name"), s.engine(t), make(chan *engine.Lock)
	go func() {
		lock, err := second.Acquire(t.Context(), "name", 0)
		assert.NoError(t, err)
		got <- lock
	}()
	s.awaitLine(t, "name", 1)
	require.NoError(t, first.Release(t.Context()))
	lock := <-got // in line, and so passes it on: to a process that is stopped
	require.NoError(t, lock.KeepAlive(0))
	var stopped []*job
	for i := range 4 {
		j := s.start(t, "exec "+quick+" name -- true")
		s.awaitLine(t, "name", i+1)
		stopped = append(stopped, j)
	}
	for _, j := range stopped {
		j.signal(t, syscall.SIGSTOP)
		awaitState(t, j.Process.Pid, "T")
	}
	require.NoError(t, lock.Release(t.Context()))
	require.Equal(t, "ran\n", s.ok(t, "exec "+quick+" name -- echo ran"))
	for _, j := range stopped { // they still get the lock
		j.ends(t, 0, syscall.SIGCONT)
	}
}
