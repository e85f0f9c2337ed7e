package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A healer receives the outcome of a heal.
type healer struct {
	granted, gone uint64
	over, counted bool
}

func (*healer) Decided(Outcome) {}
func (h *healer) Counted(granted, gone uint64) {
	h.granted, h.gone, h.counted = granted, gone, true
}
func (h *healer) Over() bool { return h.over }

func heal(name string, to uint64) Request {
	return Request{Op: Acquire, Heal: true, Among: to, Contended: true, Name: name, Token: "token of " + name, TTL: time.Hour}
}

func TestAHealGoesToTheMastersThatLackTheLock(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		b.started()
		b.p.limit = 0 // no room for new locks
		h := &healer{}
		require.NoError(t, b.p.Start(heal("a", 0b01010), h))
		time.Sleep(testTimeout)
		require.True(t, h.counted)
		require.EqualValues(t, 0b01010, h.granted)
		require.Zero(t, h.gone, "the others were not asked")
		for i, f := range b.fakes {
			require.Equal(t, i%2, len(f.commands("a")), f.address)
		}
		require.Zero(t, b.p.acquires.Load())
	})
}

func TestAHealIsDroppedOnceItsLeaseIsOver(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		b.started()
		other := side(func() { b.mustAcquire("other") })
		synctest.Wait()
		h := &healer{}
		require.NoError(t, b.p.Start(heal("a", 1), h)) // waits for room
		h.over = true
		other()
		b.cycle("later")
		require.Empty(t, b.fakes[0].commands("a"))
		require.False(t, h.counted)
	})
}
