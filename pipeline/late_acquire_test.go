package pipeline

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

func TestAcquireInFlightOfAMasterThatFellBehindStaysInDoubt(t *testing.T) {
	const lease = 5 * time.Second
	for name, requests := range map[string]int{"behind": maxBacklog + 100, "not behind": 100} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.cfg.Timeout = 10 * time.Second
				b.started()
				f := b.fakes[2]
				f.hold(true)
				f.set(func() { f.refuse = true })
				out := b.ask(Request{Op: Acquire, Name: "a", Token: "t", TTL: lease})
				require.Equal(t, quorum.Won, out.Verdict)
				time.Sleep(10 * time.Millisecond)
				for i := range requests { // of locks that it cannot have
					b.p.Post(releaseOf(fmt.Sprint("name", i), conn.InRound(1<<40)))
				}
				time.Sleep(time.Second)
				b.mustAcquire("sets it aside")
				require.Equal(t, quorum.Won, b.ask(Request{Op: Release, Name: "a", Token: "t", TTL: lease, Origin: out.Origin}).Verdict)
				time.Sleep(12 * time.Second)
				f.hold(false) // the old connection's bytes are executed: the lease starts now
				synctest.Wait()
				require.Contains(t, f.keys(), "a")
				f.comeBack()
				b.untilUp(3)
				time.Sleep(time.Second)
				require.NotContains(t, f.keys(), "a", "its release was forgotten")
			})
		})
	}
}

// An acquire and its release go out in one write, and only the acquire's bytes arrive.
func TestReleaseThatDiedWithItsAcquireIsNotForgotten(t *testing.T) {
	const lease = 5 * time.Second
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Timeout = time.Second
		b.started()
		f := b.fakes[2]
		f.set(func() { f.delay = 100 * time.Millisecond })
		b.mustAcquire("keeps it busy")
		out := b.ask(Request{Op: Acquire, Name: "a", Token: "t", TTL: lease})
		b.ask(Request{Op: Release, Name: "a", Token: "t", TTL: lease, Origin: out.Origin})
		time.Sleep(150 * time.Millisecond)
		f.hold(true)
		f.set(func() {
			f.refuse = true
			f.hook = func(args []string) string {
				if args[0] == "EVALSHA" && args[1] == scripts.Release.SHA1 && args[3] == "a" {
					return ":0\r\n" // never arrived
				}
				return ""
			}
		})
		time.Sleep(2 * time.Second)
		require.Equal(t, 2, b.up())
		time.Sleep(2 * lease)
		f.hold(false)
		time.Sleep(time.Second)
		require.Contains(t, f.keys(), "a", "executed late")
		f.comeBack()
		b.untilUp(3)
		time.Sleep(time.Second)
		require.NotContains(t, f.keys(), "a", "its release was forgotten")
	})
}

func TestRepeatedAcquireIsStillFollowedByItsRelease(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		// Scripts were flushed, and another process has loaded some of them again.
		f.set(func() {
			f.delay = 20 * time.Millisecond
			delete(f.loaded, scripts.Batch.SHA1)
		})
		blocker := side(func() { b.mustAcquire("blocker") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Microsecond)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := b.acquire(ctx, "a")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		for i := range conn.FoldFrom {
			callers.Go(func() { b.mustAcquire(fmt.Sprint("name", i)) })
		}
		callers.Wait()
		blocker()
		time.Sleep(5 * time.Second)
		for _, f := range b.fakes {
			require.NotContains(t, f.keys(), "a", f.address)
		}
	})
}

// Releases of a master that is behind are pending. Releases on the wire, or still waiting for it,
// come before repeats.
func TestAcquireIsNotRepeatedBehindItsPendingRelease(t *testing.T) {
	for _, others := range []int{0, 3 * conn.FoldMax} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.cfg.Timeout = 40 * time.Millisecond
			b.native(allNative)
			b.started()
			m, f := b.p.masters[2], b.fakes[2]
			require.Less(t, m.pace.Budget(), conn.FoldMax, "a repeat waits for the pending releases on the wire")
			f.set(func() { f.data["name7"] = value{text: "another's", ends: time.Now().Add(hour)} })
			f.hold(true)
			outs := b.acquireTogether(numbered(20)...)
			b.p.mu.Lock()
			waits := len(m.unsent)
			m.behind = true
			m.pending.LeaveOut(b.p.seq + 1)
			b.p.mu.Unlock()
			require.Positive(t, waits)
			for i := range others {
				b.p.Post(releaseOf(fmt.Sprint("other", i), OriginForeign))
			}
			for i, name := range numbered(20) {
				b.p.Post(Request{Op: Release, Name: name, Token: fmt.Sprint("token ", i), TTL: hour, Origin: outs[i].Origin})
			}
			time.Sleep(20 * time.Millisecond)
			f.hold(false)
			time.Sleep(time.Second) // not yet the dead-peer time, after which they are sent once more
			require.Equal(t, []string{"name7"}, f.keys(), "%d others", others)
		})
	}
}
