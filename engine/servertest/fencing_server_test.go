package servertest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"muxlock/engine"
	"muxlock/internal/testing/await"
)

// A fenceLog checks that the fences of a name grow.
type fenceLog struct {
	mu   sync.Mutex
	last map[string]uint64
	seen int
}

// saw is called by a holder, while it holds.
func (f *fenceLog) saw(t testing.TB, l *engine.Lock) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = make(map[string]uint64)
	}
	require.Greater(t, l.Fence(), f.last[l.Name()], l.Name())
	f.last[l.Name()] = l.Fence()
	f.seen++
}

func TestFencesGrowAcrossEnginesNamesAndHandOvers(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 5)
	engines := []*engine.Engine{open(t, masters, fenced), open(t, masters, fenced), open(t, masters, fenced)}
	var log fenceLog
	var all errgroup.Group
	for _, e := range engines {
		for w := range 8 {
			all.Go(func() error {
				for i := range 40 {
					lock, err := e.Acquire(t.Context(), fmt.Sprint(t.Name(), (w+i)%3), 5*time.Second)
					if err != nil {
						return err
					}
					log.saw(t, lock)
					if err := lock.Release(t.Context()); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, all.Wait())
	require.Equal(t, 3*8*40, log.seen)
	handed := uint64(0)
	for _, e := range engines {
		handed += e.Stats().HandedOver
		t.Logf("%+v", e.Stats().FencesRaised)
	}
	require.NotZero(t, handed)
}

func TestLoneFencedAcquiresTakeOneRoundTrip(t *testing.T) {
	t.Parallel()
	e := open(t, fencedSet(t, 5), fenced)
	for i := range 500 {
		lock, err := e.Acquire(t.Context(), fmt.Sprint(t.Name(), i%100), 5*time.Second)
		require.NoError(t, err)
		require.NoError(t, lock.Extend(t.Context(), 6*time.Second))
		require.NoError(t, lock.Release(t.Context()))
	}
	require.Zero(t, e.Stats().FencesRaised)
}

// Another process then gets the same token from all, in one round trip.
func TestLateMasterThatIsSparedAcquiresHasTheirRegisters(t *testing.T) {
	t.Parallel()
	masters := fencedSet(t, 3)
	e, links := bent(t, masters, fenced, masterTimeout(4*await.Patience-time.Second))
	links[2].HoldReplies(true)
	for range 50 {
		cycle(t, e, t.Name())
	}
	links[2].HoldReplies(false)
	quiet(t, e)
	require.Less(t, calls(t, masters[2], "mget"), calls(t, masters[0], "mget"), "it was spared some")
	require.Equal(t, tokenOf(t, masters[0], t.Name()), tokenOf(t, masters[2], t.Name()))
}
