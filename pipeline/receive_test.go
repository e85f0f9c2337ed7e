package pipeline

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
)

func TestMissingScriptIsLoadedAndOtherCallsKeepTheirAnswers(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		var held []Outcome
		for i := range 12 {
			held = append(held, b.mustAcquire(fmt.Sprint("held", i)))
		}
		flush := func() {
			setAll(b.fakes, func(f *fake) { clear(f.loaded) })
		}
		// Folded: everybody's command misses its script.
		flush()
		blocker := side(func() { b.cycle("blocker") })
		synctest.Wait()
		var callers sync.WaitGroup
		for i, out := range held {
			callers.Go(func() {
				out := b.mustRelease(fmt.Sprint("held", i), out.Origin)
				assert.Equal(t, quorum.Won, out.Verdict)
			})
		}
		callers.Wait()
		blocker()
		// Not folded: a SET between two commands that miss their script.
		origin := b.mustAcquire("mine").Origin
		flush()
		blocker = side(func() { b.mustAcquire("blocker too") })
		synctest.Wait()
		callers.Go(func() { b.mustAcquire("between") })
		callers.Go(func() {
			assert.Equal(t, quorum.Won, b.mustRelease("mine", origin).Verdict)
		})
		callers.Wait()
		blocker()
		require.EqualValues(t, 3, b.up())
		for _, m := range b.p.Stats().Masters {
			require.Zero(t, m.SetAside)
		}
		for _, f := range b.fakes {
			require.Len(t, f.commands("between"), 1, "a command that was answered is not repeated")
		}
	})
}

func TestUnfitMasterIsSetAsideAndOthersAreNot(t *testing.T) {
	for _, fault := range conn.ServerWideErrors {
		if fault == "NOSCRIPT" {
			continue
		}
		t.Run(fault, func(t *testing.T) {
			overMasters(t, 3, func(t *testing.T, b *bubble) {
				f := b.fakes[1]
				f.set(func() { f.hook = answering("-"+fault+" for a test\r\n", "SET", "EVALSHA") })
				out := b.mustAcquire("a")
				time.Sleep(testTimeout)
				stats := b.p.Stats().Masters
				require.False(t, stats[1].Up)
				require.Equal(t, fault, conn.FirstWord(stats[1].Cause))
				require.True(t, stats[0].Up && stats[2].Up)
				b.mustRelease("a", out.Origin)
				f.set(func() { f.hook = nil })
				b.untilUp(3)
				time.Sleep(5 * time.Second)
				b.requireNoKeys()
			})
		})
	}
}

func TestMasterThatSpeaksUnaskedIsSetAsideWithItsWords(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		causes := make(chan error, 1)
		b.cfg.Changed = func(_ string, up bool, cause error) {
			if !up {
				causes <- cause
			}
		}
		b.started()
		f := b.fakes[0]
		f.set(func() { f.conns[0].outbox = append(f.conns[0].outbox, "-ERR going away\r\n"...) })
		require.EqualError(t, <-causes, "going away: nothing was asked")
	})
}
