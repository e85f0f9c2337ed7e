package sim

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisfake"
	"muxlock/internal/testing/faultconn"
)

// The goroutines of the first process have the name to themselves before the second one comes, so no attempt of theirs was
// ever refused: nothing but their pause after each turn leaves the name to the second process.
func TestAProcessThatWasNeverRefusedHasItsShareOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		masters := []*redisfake.Server{redisfake.New(), redisfake.New(), redisfake.New()}
		const far = 50 * time.Microsecond // near, so that the pause is short
		open := func() *engine.Engine {
			cfg := engine.Config{MastersAreNew: true}
			links := make([]*faultconn.Link, len(masters))
			for i := range masters {
				links[i] = faultconn.NewLink()
				links[i].Delay(far)
				links[i].DelayRequests(far)
				t.Cleanup(links[i].Cut)
			}
			reach(&cfg, masters, func(i int) *faultconn.Link { return links[i] })
			e, err := engine.New(t.Context(), cfg)
			require.NoError(t, err)
			return e
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var all sync.WaitGroup
		var holds [2]atomic.Int64
		engines := []*engine.Engine{open(), open()}
		for i, e := range engines {
			for range 8 {
				all.Go(func() {
					for {
						lock, err := e.Acquire(ctx, "name", 0)
						if err != nil {
							return
						}
						holds[i].Add(1)
						time.Sleep(time.Millisecond)
						_ = lock.Release(context.Background())
					}
				})
			}
			time.Sleep(99 * time.Millisecond)
		}
		all.Wait()
		for i, e := range engines {
			require.NoError(t, e.Close())
			require.Greater(t, holds[i].Load(), int64(1000), "of some 4,500")
		}
		for _, m := range masters {
			m.Close()
		}
	})
}
