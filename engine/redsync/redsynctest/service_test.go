package redsynctest

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	shim "muxlock/engine/redsync"
	"muxlock/internal/testing/redistest"
)

// A record is what a service changes under a lock, one holder at a time.
type record struct {
	inside  atomic.Int32
	value   atomic.Int32 // read, and written back one larger
	once    sync.Once
	overlap chan struct{} // closed when two were inside
}

func newRecord() *record { return &record{overlap: make(chan struct{})} }

func (r *record) update(during func()) {
	if r.inside.Add(1) > 1 {
		r.once.Do(func() { close(r.overlap) })
	}
	read := r.value.Load()
	during()
	r.value.Store(read + 1)
	r.inside.Add(-1)
}

func (r *record) overlapped() bool {
	select {
	case <-r.overlap:
		return true
	default:
		return false
	}
}

// waiting is how workers wait, in both libraries: until they have the lock.
var waiting = []option{expiry(15 * time.Second), tries(100_000), delay(3 * time.Millisecond)}

// Four processes, as far as the masters can tell, half of them with the shim. What Redsync locked is unlocked by
// the shim every third time. A master dies half-way.
func TestServiceRunsHalfOnRedsyncAndHalfOnTheShim(t *testing.T) {
	const workers, cycles = 3, 40 // of each process
	masters := redistest.Masters(t, 5)
	addresses := redistest.Addrs(masters)
	fromShim := openShim(t, addresses)
	processes := []library{openRedsync(t, addresses), openRedsync(t, addresses), fromShim, openShim(t, addresses)}
	records := []*record{newRecord(), newRecord()}
	var kill sync.Once
	var all sync.WaitGroup
	for p, process := range processes {
		for range workers {
			all.Go(func() {
				for i := range cycles {
					name := fmt.Sprint("record ", i%2)
					m := process(name, waiting...)
					if !assert.NoError(t, m.Lock()) {
						return
					}
					records[i%2].update(runtime.Gosched)
					if i == cycles/2 {
						kill.Do(func() { assert.NoError(t, masters[4].Kill()) })
					}
					if p < 2 && i%3 == 0 {
						m = fromShim(m.Name(), value(m.Value()))
					}
					// One of three masters that had it may have died: no majority of the five confirms.
					if ok, err := m.Unlock(); !ok {
						assert.True(t, as[*redsync.RedisError](err) || as[*shim.RedisError](err), err)
					}
				}
			})
		}
	}
	all.Wait()
	for _, r := range records {
		require.False(t, r.overlapped(), "one at a time")
		require.EqualValues(t, len(processes)*workers*cycles/2, r.value.Load(), "no update is lost")
	}
}

func TestOverlapIsSeenWhereNamesDiffer(t *testing.T) {
	masters := three(t)
	addresses := redistest.Addrs(masters)
	r := newRecord()
	var all sync.WaitGroup
	for _, process := range []library{openRedsync(t, addresses), openShim(t, addresses)} {
		all.Go(func() {
			m := process(newKey(t), waiting...)
			if assert.NoError(t, m.Lock()) {
				r.update(func() { // until the other one is inside, too
					select {
					case <-r.overlap:
					case <-time.After(10 * time.Second):
					}
				})
			}
		})
	}
	all.Wait()
	require.True(t, r.overlapped())
}
