package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lines is the output of a process. Tests can wait for a text in it.
type lines struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed and replaced with each write
}

func newLines() *lines { return &lines{changed: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until a text has been written.
func (l *lines) await(t testing.TB, want string) {
	t.Helper()
	late := time.After(limit)
	for {
		l.mu.Lock()
		text, changed := l.text.String(), l.changed
		l.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-changed:
		case <-late:
			require.Contains(t, text, want)
		}
	}
}
