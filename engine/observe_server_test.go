package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/testing/shown"
)

func TestObserverAndLoggerAreToldAndSeeNoToken(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 5)
	var j journal
	e := open(t, masters, j.config)
	first, err := e.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	_, err = e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, ErrTaken)
	next := make(chan *Lock)
	go func() {
		lock, _ := e.Acquire(context.Background(), t.Name(), 5*time.Second)
		next <- lock
	}()
	await.Equal(t, 1, func() any { return e.Stats().Waiting })
	first.lock()
	first.lease.term.Since = first.since.Add(time.Hour) // the bound is not reached yet, on a slow machine too
	first.unlock()
	require.NoError(t, first.Release(t.Context()))
	second := <-next
	require.NoError(t, second.Release(t.Context()))
	await.True(t, func() bool { return j.has("released false true") })
	require.Equal(t, []string{"acquired 1", "not acquired 0", "released true true", "acquired 0", "released false true"}, func() []string {
		j.mu.Lock()
		defer j.mu.Unlock()
		return slices.Clone(j.events)
	}())
	require.NotContains(t, j.log.String(), `"WARN"`)

	third, err := e.Acquire(t.Context(), t.Name(), 5*time.Second)
	require.NoError(t, err)
	require.NoError(t, third.KeepAlive(0))
	await.True(t, func() bool { return j.has("renewed true") })
	for _, m := range masters {
		redistest.Command(t, m, "FLUSHALL")
	}
	<-third.Done()
	await.True(t, func() bool { return j.has("lost") && j.has("renewed false") })
	require.ErrorIs(t, third.Release(t.Context()), ErrNotHeld)
	await.True(t, func() bool { return j.has("released false false") })
	await.True(t, func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return bytes.Count(j.log.Bytes(), []byte(`"WARN"`)) == 2
	})
	for _, line := range []string{"lock lost", "renewal failed", t.Name()} {
		require.Contains(t, j.log.String(), line)
	}
	for _, lock := range []*Lock{first, second, third} {
		token := lock.lease.token
		require.NotContains(t, j.log.String(), token)
		for _, err := range j.errs {
			shown.RequireHidden(t, token, err)
		}
	}
}

// A journal is what an observer and a logger received.
type journal struct {
	mu     sync.Mutex // guards the following
	events []string
	errs   []error
	log    bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.log.Write(line)
}

func (j *journal) note(err error, event string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, fmt.Sprintf(event, args...))
	j.errs = append(j.errs, err)
}

func (j *journal) has(event string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.events, event)
}

func (j *journal) config(c *Config) {
	c.Logger = slog.New(slog.NewJSONHandler(j, nil))
	c.Observer = &Observer{
		Acquired:    func(name string, _ time.Duration, attempts int) { j.note(nil, "acquired %d", attempts) },
		NotAcquired: func(name string, _ time.Duration, attempts int, err error) { j.note(err, "not acquired %d", attempts) },
		Released: func(name string, _ time.Duration, handedOver bool, err error) {
			j.note(err, "released %v %v", handedOver, err == nil)
		},
		Lost:    func(name string, _ time.Duration, cause error) { j.note(cause, "lost") },
		Renewed: func(name string, err error) { j.note(err, "renewed %v", err == nil) },
	}
}
