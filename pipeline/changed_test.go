package pipeline

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A change is one call of Config.Changed.
type change struct {
	master string
	up     bool
	cause  error
}

// changes keeps the calls of Config.Changed.
type changes struct {
	mu   sync.Mutex
	list []change
}

func (c *changes) add(master string, up bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, change{master, up, cause})
}

// take returns the calls since it was called last.
func (c *changes) take() []change {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.list
	c.list = nil
	return got
}

func TestChangedReportsAMasterSetAsideAndItsReturn(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		var c changes
		b.cfg.Wait, b.cfg.MastersAreNew, b.cfg.Changed = testWait+time.Second, true, c.add
		b.started()
		b.cycle("a")
		time.Sleep(time.Second)
		require.Empty(t, c.take(), "no event for masters that are well")

		b.fakes[1].leave()
		b.cycle("meets the cut")
		time.Sleep(10 * time.Second) // many probes fail
		got := c.take()
		require.Len(t, got, 1)
		require.Equal(t, change{"m1", false, got[0].cause}, got[0])
		require.Error(t, got[0].cause)

		b.fakes[1].comeBack()
		b.untilUp(3)
		time.Sleep(time.Second)
		require.Equal(t, []change{{"m1", true, nil}}, c.take())

		b.restarted(2)
		got = c.take()
		require.Len(t, got, 2)
		require.Equal(t, change{"m2", false, got[0].cause}, got[0])
		require.Error(t, got[0].cause)
		require.Equal(t, change{"m2", true, got[1].cause}, got[1])
		require.ErrorIs(t, got[1].cause, ErrRestarted)

		require.ErrorContains(t, got[1].cause, "no vote for another")

		b.requireVotesReported(&c, "m2", b.votesFrom(2))
		b.cycle("b")
		b.p.Close()
		require.Empty(t, c.take(), "Close is no event")
	})
}

// requireVotesReported waits until a master is reported to vote, which must be at from, after a round trip,
// and once.
func (b *bubble) requireVotesReported(c *changes, master string, from time.Time) {
	b.Helper()
	time.Sleep(time.Until(from) - 1)
	require.Empty(b, c.take(), "it does not vote yet")
	time.Sleep(10 * time.Millisecond)
	require.Equal(b, []change{{master, true, nil}}, c.take())
	time.Sleep(time.Minute)
	require.Empty(b, c.take())
}

func TestChangedReportsMastersThatDoNotVoteWhenNewReturns(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		var c changes
		b.cfg.Wait, b.cfg.Changed = testWait+time.Second, c.add
		b.fakes[0].started = time.Now().Add(-hour)
		b.fakes[2].refuse = true
		b.started()
		time.Sleep(time.Second)
		got := c.take()
		if len(got) == 2 && got[0].master == "m2" { // masters are reported side by side
			got[0], got[1] = got[1], got[0]
		}
		require.Len(t, got, 2)
		require.Equal(t, change{"m1", true, got[0].cause}, got[0])
		require.ErrorIs(t, got[0].cause, ErrRestarted)
		require.Equal(t, change{"m2", false, got[1].cause}, got[1])
		require.ErrorContains(t, got[1].cause, "connection refused")
		b.requireVotesReported(&c, "m1", b.votesFrom(1))
	})
}

func TestCausesDoNotQuoteTheArgumentsOfAnUnknownCommand(t *testing.T) {
	const todo = " (the engine needs the command: undo its rename-command)" // of a probe
	unknown := func(command string) func(args []string) string {
		return func(args []string) string {
			if args[0] != command {
				return ""
			}
			return fmt.Sprintf("-ERR unknown command '%s', with args beginning with: '%s' \r\n", args[0], strings.Join(args[1:], "' '"))
		}
	}
	inBubble(t, 4, func(t *testing.T, b *bubble) {
		var c changes
		b.cfg.Changed = c.add
		b.cfg.Masters[3].Option.Password, b.cfg.Masters[3].Option.AlwaysRESP2 = "secret", true
		b.fakes[3].hook = unknown("AUTH")
		b.started()
		time.Sleep(time.Second)
		require.EqualError(t, c.take()[0].cause, "unknown command 'AUTH'"+todo)

		b.fakes[0].set(func() { b.fakes[0].hook = unknown("EVALSHA") })
		b.fakes[0].cut()
		time.Sleep(3 * time.Second)
		require.EqualError(t, b.p.Stats().Masters[0].Cause, "trial lock: unknown command 'EVALSHA'"+todo)
		setAll(b.fakes[:3], func(f *fake) { f.hook = unknown("SET") })
		out := b.tryAcquire("b")
		require.Contains(t, fmt.Sprint(out.Causes), "unknown command 'SET'")
		require.NotContains(t, fmt.Sprint(out.Causes), "args")
	})
}

func TestChangedBlocksNobodyButItsMaster(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		goOn, locked := make(chan struct{}), 0
		b.cfg.Changed = func(string, bool, error) {
			for range 1000 { // others hold it for moments only
				if b.p.mu.TryLock() {
					b.p.mu.Unlock()
					<-goOn
					return
				}
				runtime.Gosched()
			}
			locked++
		}
		b.started()
		b.fakes[1].cut()
		b.cycle("meets the cut")
		begin := time.Now()
		b.cycle("b")
		b.cycle("c")
		require.Less(t, time.Since(begin), testTimeout)
		time.Sleep(10 * time.Second)
		require.Zero(t, locked, "calls with Pipeline.mu held")
		require.Equal(t, 2, b.up(), "its master waits for it")
		close(goOn)
		b.untilUp(3)
	})
}
