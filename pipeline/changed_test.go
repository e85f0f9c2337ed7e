package pipeline

import (
	"context"
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

// quoted is how servers answer to a command that they do not know: from Redis 7 on, and before.
var quoted = []func(args []string) string{
	func(args []string) string {
		return fmt.Sprintf("ERR unknown command '%s', with args beginning with: '%s' ", args[0], strings.Join(args[1:], "' '"))
	},
	func(args []string) string {
		return fmt.Sprintf("ERR unknown command `%s`, with args beginning with: `%s`, ", args[0], strings.Join(args[1:], "`, `"))
	},
}

func TestCausesDoNotQuoteTheArgumentsOfAnUnknownCommand(t *testing.T) {
	const todo = " (the engine needs the command: undo its rename-command)" // of a probe
	for _, quote := range quoted {
		short := func(command string) string {
			text, _, _ := strings.Cut(strings.TrimPrefix(quote([]string{command}), "ERR "), ",")
			return text
		}
		unknown := func(f *fake, command string) {
			f.set(func() {
				f.hook = func(args []string) string {
					if args[0] != command {
						return ""
					}
					return "-" + quote(args) + "\r\n"
				}
			})
		}
		inBubble(t, 4, func(t *testing.T, b *bubble) {
			var c changes
			b.cfg.Changed = c.add
			b.cfg.Masters[3].Option.Password, b.cfg.Masters[3].Option.AlwaysRESP2 = "secret", true
			unknown(b.fakes[3], "AUTH")
			b.started()
			time.Sleep(time.Second)
			require.EqualError(t, c.take()[0].cause, short("AUTH")+todo)

			unknown(b.fakes[0], "EVALSHA")
			b.fakes[0].cut()
			time.Sleep(3 * time.Second)
			require.EqualError(t, b.p.Stats().Masters[0].Cause, "trial lock: "+short("EVALSHA")+todo)
		})
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.started()
			origin := b.mustAcquire("a").Origin
			for _, c := range []struct {
				command string
				ask     func() (Outcome, error)
			}{
				{"SET", func() (Outcome, error) { return b.acquire(context.Background(), "b") }},
				{"EVALSHA", func() (Outcome, error) { return b.release("a", origin) }},
			} {
				for _, f := range b.fakes {
					unknown(f, c.command)
				}
				out, err := c.ask()
				require.NoError(t, err)
				require.NotEmpty(t, out.Causes)
				for _, cause := range out.Causes {
					require.EqualError(t, cause.Err, short(c.command))
				}
				time.Sleep(time.Second)
				for i, f := range b.fakes {
					cause := b.p.Stats().Masters[i].Cause // of being set aside, or of a probe
					require.ErrorContains(t, cause, short(c.command))
					require.NotContains(t, cause.Error(), "args")
					f.set(func() { f.hook = nil })
				}
				b.untilUp(3)
			}
		})
	}
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
