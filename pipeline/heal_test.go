package pipeline

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A healer receives the outcome of a heal.
type healer struct {
	over    atomic.Bool
	counted chan [2]uint64 // granted, gone
}

func newHealer() *healer { return &healer{counted: make(chan [2]uint64, 1)} }

func (*healer) Decided(Outcome)                {}
func (h *healer) Counted(granted, gone uint64) { h.counted <- [2]uint64{granted, gone} }
func (h *healer) Over() bool                   { return h.over.Load() }

func heal(name string, to uint64) Request {
	return Request{Op: Acquire, Heal: true, Among: to, Contended: true, Name: name, Token: "token of " + name, TTL: time.Hour}
}

func TestAHealGoesToTheMastersThatLackTheLock(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		b.p.acquires.Add(int64(b.p.cfg.Queue)) // no room for new locks
		h := newHealer()
		require.NoError(t, b.p.Start(heal("a", 0b01010), h))
		require.Equal(t, [2]uint64{0b01010, 0}, <-h.counted, "the others were not asked")
		for i, f := range b.fakes {
			require.Equal(t, i%2, len(f.commands("a")), f.address)
		}
		require.EqualValues(t, b.p.cfg.Queue, b.p.acquires.Load())
		b.p.acquires.Add(int64(-b.p.cfg.Queue))
	})
}

func TestAHealIsDroppedOnceItsLeaseIsOver(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		other := side(func() { b.mustAcquire("other") })
		synctest.Wait()
		h := newHealer()
		require.NoError(t, b.p.Start(heal("a", 1), h)) // waits for room
		h.over.Store(true)
		other()
		b.cycle("later")
		require.Empty(t, b.fakes[0].commands("a"))
		require.Empty(t, h.counted)
	})
}

func TestAHealIsNotSentToAMasterThatWaits(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Wait = testWait
		b.started() // masters that were started just now
		h := newHealer()
		require.NoError(t, b.p.Start(heal("a", 1), h))
		require.Equal(t, [2]uint64{}, <-h.counted)
		require.Empty(t, b.fakes[0].commands("a"))
		require.NoError(t, b.p.Ready(t.Context()))
		require.NoError(t, b.p.Start(heal("a", 1), h))
		require.Equal(t, [2]uint64{1, 0}, <-h.counted)
	})
}
