package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestValueThatOnlyLooksAlikeIsNoReaders(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e := open(t, masters)
	for _, m := range masters {
		redistest.Command(t, m, "SET", t.Name(), "~another client's value, which is longer", "PX", "20000")
	}
	_, err := e.TryAcquireShared(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, ErrTaken)
	reader := mustAcquireShared(t, e, "name", 0)
	_, err = e.Adopt(t.Context(), "name", reader.lease.token, 0)
	require.ErrorIs(t, err, ErrInvalid)
}

func TestIntentEndsWithTheWait(t *testing.T) {
	masters := redistest.Masters(t, 3)
	e, tries, other := open(t, masters), open(t, masters, func(c *Config) { c.MaxAttempts = 1 << 20 }), open(t, masters)
	for name, begin := range map[string]func(ctx context.Context, name string) error{
		"in line":    func(ctx context.Context, name string) error { _, err := e.Acquire(ctx, name, 0); return err },
		"in no line": func(ctx context.Context, name string) error { _, err := tries.Acquire(ctx, name, 0); return err },
	} {
		once := func(leaves bool, name string) time.Duration {
			reader := mustAcquireShared(t, other, name, 0)
			ctx, leave := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- begin(ctx, name) }()
			intents := func() (n int) {
				for _, m := range masters {
					n += int(redistest.Command(t, m, "EXISTS", "__muxlock__:i:"+name).(int64))
				}
				return n
			}
			readers := []*Lock{reader}
			await.True(t, func() bool { // a writer that stands in no line learns of readers when another one comes
				if len(readers) < 30 && intents() == 0 {
					if more, err := open(t, masters).TryAcquireShared(t.Context(), name, 0); err == nil { // else the intent came first
						readers = append(readers, more)
					}
				}
				return intents() == 3
			}, name)
			if leaves {
				leave()
			} else {
				for _, l := range readers {
					require.NoError(t, l.Release(t.Context()))
				}
			}
			err := <-done
			begun := time.Now()
			await.Equal(t, 0, func() any { return intents() }, name)
			took := time.Since(begun)
			require.Equal(t, leaves, err != nil, name)
			leave()
			return took
		}
		for _, leaves := range []bool{true, false} {
			tries := 10 // a busy machine
			for once(leaves, fmt.Sprint(name, leaves, tries)) >= intentFor-intentEvery {
				tries--
				require.NotZero(t, tries, "%s: the intent outlives the wait", name)
			}
		}
	}
}
