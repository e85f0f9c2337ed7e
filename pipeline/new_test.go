package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTwoAddressesOfOneServerAreRefused(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.fakes[2].runID = b.fakes[1].runID
		_, err := New(b.Context(), b.cfg)
		require.ErrorIs(t, err, errSameServer)
		var start *StartError
		require.ErrorAs(t, err, &start)
		require.True(t, start.Misconfigured)
		require.Equal(t, 2, start.Admitted)
		require.Len(t, start.Causes, 1)
	})
}

func TestNewWorksWithAMajorityAndFetchesTheOthersLater(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		b.fakes[0].refuse, b.fakes[1].silent = true, true
		p := b.started()
		require.Equal(t, 3, b.up())
		require.ErrorContains(t, p.Stats().Masters[0].Cause, "refused")
		b.cycle("a")
		b.fakes[0].comeBack()
		b.fakes[1].set(func() { b.fakes[1].silent = false })
		b.untilUp(5)
	})
}

// A server that answers but takes no locks shows that by a trial.
func TestMasterThatRefusesLocksIsNotAdmitted(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[2]
		f.hook = answering("-OOM command not allowed\r\n", "SET")
		p := b.started()
		require.Equal(t, 2, b.up())
		require.ErrorContains(t, p.Stats().Masters[2].Cause, "OOM")
		time.Sleep(5 * time.Second)
		require.Equal(t, 2, b.up())
		f.set(func() { f.hook = nil })
		b.untilUp(3)
	})
}

func TestNewWithoutAMajorityHasTheCauseOfEachMaster(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		each(b.fakes[:3], func(f *fake) { f.refuse = true })
		_, err := New(b.Context(), b.cfg)
		var start *StartError
		require.ErrorAs(t, err, &start)
		require.Equal(t, StartError{Admitted: 2, Quorum: 3, Masters: 5, Causes: start.Causes}, *start)
		require.Len(t, start.Causes, 3)
		require.ErrorContains(t, err, "m0: connection refused")
	})
}

func TestNewEndsWithItsContext(t *testing.T) {
	for name, fault := range map[string]func(*fake){
		"silent dial":     func(f *fake) { f.silent = true },
		"hung greeting":   func(f *fake) { f.stalled = true },
		"hung probe":      func(f *fake) { f.hook = hangOn(f, "INFO") },
		"hung trial lock": func(f *fake) { f.hook = hangOn(f, "EVALSHA") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.cfg.Timeout = 5 * time.Second
				setAll(b.fakes, func(f *fake) { fault(f) })
				ctx, cancel := context.WithTimeout(b.Context(), 50*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := New(ctx, b.cfg)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Less(t, time.Since(start), 100*time.Millisecond)
			})
		})
	}
}
