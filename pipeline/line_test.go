package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/line"
	"muxlock/internal/quorum"
	"muxlock/internal/redisfake"
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// A listener of tests keeps what it hears.
type heard chan Answer

func (h heard) Hear(master int, a Answer) {
	a.Rank = master // where it is from
	h <- a
}

// stand joins the line for a name, and returns the verdict and what the token hears.
func stand(t *testing.T, p *Pipeline, name, token string) (Outcome, heard) {
	t.Helper()
	h := make(heard, 64)
	p.Listen(name, token, h)
	out := outcomeOf(t, p, waitOf(name, token, &Line{Request: line.Request{Version: 1}}))
	return out, h
}

func waitOf(name, token string, l *Line) Request {
	l.Lease, l.Stale = 30*time.Second, 30*time.Second
	return Request{Op: Wait, Name: name, Token: token, TTL: hour, Line: l}
}

func passOf(name, token string, origin Origin) Request {
	return Request{Op: Pass, Name: name, Token: token, TTL: hour, Origin: origin}
}

// grants returns the masters that grant, once n of them do.
func (h heard) grants(n int) (from map[int]Answer) {
	from = make(map[int]Answer)
	for len(from) < n {
		if a := <-h; a.Kind == line.Granted {
			from[a.Rank] = a
		}
	}
	return from
}

// A lineBubble is pipelines over fake masters that know the scripts, in virtual time.
type lineBubble struct {
	*testing.T
	servers []*redisfake.Server
	cfg     Config
}

func inLineBubble(t *testing.T, test func(t *testing.T, b *lineBubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &lineBubble{T: t, cfg: Config{Timeout: testTimeout, Queue: 1 << 10, Wait: testWait, MastersAreNew: true}}
		for i := range 3 {
			s := redisfake.New()
			s.Slow(time.Millisecond)
			b.servers = append(b.servers, s)
			address := fmt.Sprint("m", i)
			b.cfg.Masters = append(b.cfg.Masters, Master{Address: address, Option: rueidis.ClientOption{InitAddress: []string{address}, DialCtxFn: s.Dial}})
		}
		test(t, b)
		for _, s := range b.servers {
			s.Close()
		}
		time.Sleep(time.Second)
	})
}

// open returns a pipeline, and closes it at the end of the test.
func (b *lineBubble) open() *Pipeline {
	p, err := New(b.Context(), b.cfg)
	require.NoError(b, err)
	b.Cleanup(p.Close)
	return p
}

// openWithLines returns one whose masters have lines.
func (b *lineBubble) openWithLines() *Pipeline {
	p := b.open()
	ended, cancel := context.WithCancel(b.Context())
	cancel()
	require.False(b, p.Lines(ended), "nobody asked for a line before")
	require.True(b, p.Lines(b.Context()))
	time.Sleep(20 * time.Millisecond) // all masters have answered
	return p
}

// listening returns a master whose goroutine sleeps, and what token t hears of name n.
func (b *lineBubble) listening() (*master, heard) {
	p, h := b.openWithLines(), make(heard, 1)
	p.Listen("n", "t", h)
	synctest.Wait()
	return p.masters[0], h
}

// passed has one pipeline hold a lock, another wait for it, and the lock passed on after so long.
func (b *lineBubble) passed(after time.Duration, before func()) (h heard) {
	holder, next := b.openWithLines(), b.openWithLines()
	out := outcomeOf(b, holder, Request{Op: Acquire, Name: "n", Token: "t1", TTL: hour})
	waits, h := stand(b.T, next, "n", "t2")
	require.Equal(b, quorum.Denied, waits.Verdict)
	for range b.servers {
		require.Equal(b, line.InLine, (<-h).Kind)
	}
	time.Sleep(after)
	before()
	outcomeOf(b, holder, passOf("n", "t1", out.Origin))
	return h
}

func TestGrantCountsWithACheckThatIsYoungEnough(t *testing.T) {
	for after, least := range map[time.Duration]time.Duration{0: 0, 5 * time.Second: time.Millisecond} {
		inLineBubble(t, func(t *testing.T, b *lineBubble) {
			h := b.passed(after, func() {})
			begin := time.Now()
			require.Len(t, h.grants(3), 3)
			require.Equal(t, least, time.Since(begin), "a check comes back")
		})
	}
}

func TestCheckVouchesFromWhenItWasSent(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		m, h := b.listening()
		m.vouched(time.Now().Add(-2 * tickPeriod))
		m.pushed(m.channel, "g\nt\n1\n2000\n0\n-\n-\n-")
		require.Empty(t, h, "the master may be another since")
		require.Equal(t, line.Granted, (<-h).Kind, "with the next check")
	})
}

func TestGrantJustAfterAnAdmissionWaitsForNoCheck(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		b.cfg.Queue = conn.FoldFrom - 1 // nothing is measured, so INFO is all that was asked
		h := b.passed(0, func() {})
		begin := time.Now()
		require.Len(t, h.grants(3), 3)
		require.Zero(t, time.Since(begin))
	})
}

func TestGrantOfAMasterWithOtherDataDoesNotCount(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		h := b.passed(5*time.Second, func() {
			copied := redisfake.New()
			defer copied.Close()
			copied.ReplicaOf(b.servers[0])
			copied.Promote()
			b.servers[0].ReplicaOf(copied)
			b.servers[0].Promote()
		})
		require.Len(t, h.grants(2), 2)
		time.Sleep(time.Second)
		require.Empty(t, h)
	})
}

func TestMasterThatDoesNotVoteGrantsNothing(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		m, h := b.listening()
		m.server.VotesFrom = time.Now().Add(time.Minute)
		m.grants("t", Answer{Kind: line.Granted})
		require.Empty(t, h)
		m.server.VotesFrom = time.Time{}
		m.grants("t", Answer{Kind: line.Granted})
		require.Len(t, h, 1)
	})
}

func TestOnlyAServerThatCannotServeRoundsEitherIsSetAsideForItsLine(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		m := b.open().masters[0]
		require.NoError(t, m.hasNoLine(resp.Error("NOPERM No permissions to access a channel")))
		require.Error(t, m.hasNoLine(fmt.Errorf("trial: %w", resp.Error("READONLY You can't write against a read only replica"))))
	})
}

func TestForgedMessagesAreNotKept(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		p := b.openWithLines()
		m := p.masters[0]
		m.since = time.Now().Add(-time.Minute)
		m.pushed(m.channel, "g\nt\n1\n2000\n0\n-\n-\n-\n"+strings.Repeat("x", mostPushed))
		require.Empty(t, m.held)
		m.pushed("another", "g\nt\n1\n2000\n0\n-\n-\n-")
		require.Empty(t, m.held)
		for range 2 * mostHeld {
			m.pushed(m.channel, "g\nt\n1\n2000\n0\n-\n-\n-")
		}
		require.Len(t, m.held, mostHeld)
	})
}

func TestScriptsThatAreFlushedAreLoadedAgain(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		p := b.openWithLines()
		missing := true
		b.servers[0].Answer(func(words []string) any {
			switch {
			case words[0] == "SCRIPT" && words[2] == scripts.Wait.Source:
				missing = false
			case words[0] == "EVALSHA" && words[1] == scripts.Wait.SHA1 && missing:
				return errors.New("NOSCRIPT No matching script. Please use EVAL")
			}
			return nil
		})
		out, _ := stand(t, p, "n", "t")
		require.Equal(t, quorum.Won, out.Verdict)
		time.Sleep(time.Second)
		require.Equal(t, "t", b.servers[0].Value("n"), "it is asked again")
		outcomeOf(t, p, passOf("n", "t", out.Origin))

		// Once its pass is formed, it is not: it would stand in line behind it.
		missing = true
		b.servers[0].Slow(50 * time.Millisecond)
		out, _ = stand(t, p, "n", "t2")
		require.Equal(t, quorum.Won, out.Verdict)
		outcomeOf(t, p, passOf("n", "t2", out.Origin))
		time.Sleep(time.Second)
		require.Empty(t, b.servers[0].Keys())
	})
}

func TestMasterThatIsMetAgainHasALineWhenSomebodyAsksForIt(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		p := b.openWithLines()
		b.servers[0].Down()
		b.servers[1].Down()
		time.Sleep(time.Second)
		require.False(t, p.Lines(context.Background()))
		b.servers[0].Up()
		b.servers[1].Up()
		time.Sleep(5 * time.Second)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.False(t, p.Lines(ended), "it begins to prepare them")
		require.True(t, p.Lines(t.Context()))
	})
}

func TestWaitIsDroppedWithItsPassWhereItWasNotSent(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		p := b.openWithLines()
		ctx, cancel := context.WithCancel(t.Context())
		h := make(heard, 64)
		p.Listen("n", "t", h)
		time.AfterFunc(500*time.Microsecond, cancel) // it is on its way
		_, err := p.Do(ctx, waitOf("n", "t", &Line{Request: line.Request{Version: 1}}))
		require.ErrorIs(t, err, context.Canceled)
		time.Sleep(time.Second)
		for i, s := range b.servers {
			require.Empty(t, s.Keys(), "master %d", i)
		}
	})
}

func TestServerWithoutLinesTakesWhatItAlwaysDid(t *testing.T) {
	for text, spoil := range map[string]func(s *redisfake.Server){
		"No permissions to access a channel": func(s *redisfake.Server) {
			s.Answer(func(words []string) any {
				if words[0] == "SUBSCRIBE" {
					return errors.New("NOPERM No permissions to access a channel")
				}
				return nil
			})
		},
		"no RESP3": func(s *redisfake.Server) {
			s.Mangle(func(_ int, reply []byte) ([]byte, bool) {
				if string(reply) == "_\r\n" {
					return []byte("$-1\r\n"), false
				}
				return reply, false
			})
		},
	} {
		t.Run(text, func(t *testing.T) {
			inLineBubble(t, func(t *testing.T, b *lineBubble) {
				for _, s := range b.servers[:2] {
					spoil(s)
				}
				p := b.open()
				for range 3 {
					require.False(t, p.Lines(context.Background()))
					time.Sleep(time.Second)
				}
				out := outcomeOf(t, p, Request{Op: Acquire, Name: "n", Token: "t", TTL: hour})
				require.Equal(t, quorum.Won, out.Verdict)
				out = outcomeOf(t, p, passOf("n", "t", out.Origin))
				require.Equal(t, quorum.Won, out.Verdict, "it releases")
				out, _ = stand(t, p, "n", "t2")
				require.Equal(t, quorum.NoQuorum, out.Verdict)
				require.ErrorContains(t, out.Causes[0].Err, text)
			})
		})
	}
}

func TestServerWhoseConnectionsEndWhenTheyTryALineServesRoundsWithoutOne(t *testing.T) {
	inLineBubble(t, func(t *testing.T, b *lineBubble) {
		for _, s := range b.servers[:2] {
			s.Mangle(func(_ int, reply []byte) ([]byte, bool) { return reply, strings.Contains(string(reply), "subscribe") })
		}
		p := b.open()
		for range 10 {
			require.False(t, p.Lines(context.Background()))
			time.Sleep(time.Second)
		}
		for _, m := range p.Stats().Masters[:2] {
			require.EqualValues(t, mostLineTrials, m.SetAside)
			require.ErrorIs(t, m.NoLine, errLineTrials)
		}
		b.servers[0].Mangle(nil)
		b.servers[0].Restart()
		time.Sleep(5 * time.Second)
		require.True(t, p.Lines(t.Context()), "another server is tried again")
	})
}

func TestFencedGrantsAreLargerThanThoseBefore(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		holder := b.started()
		next, err := New(t.Context(), Config{Masters: b.setup.Masters, Timeout: testTimeout, Queue: 1000, Wait: b.setup.Wait, MaxTTL: b.setup.MaxTTL, Fencing: true})
		require.NoError(t, err)
		defer next.Close()
		for _, p := range []*Pipeline{holder, next} {
			require.True(t, p.Lines(t.Context()))
			time.Sleep(20 * time.Millisecond) // all masters have answered
		}
		before := b.ask(Acquire, "n")
		require.Equal(t, quorum.Won, before.Verdict)
		time.Sleep(20 * time.Millisecond) // the last master has granted, too
		waits, h := stand(t, next, "n", "t2")
		require.Equal(t, quorum.Denied, waits.Verdict)
		pass := passOf("n", "token of n", before.Origin)
		pass.Fence = before.Fence + 1
		outcomeOf(t, holder, pass)
		for _, a := range h.grants(3) {
			require.Equal(t, before.Fence+1, a.Fence)
		}
		require.Greater(t, next.set.Propose("n"), before.Fence+1)

		// A mark that is not the master's, of data that another had, does not count.
		waits, h = stand(t, holder, "n", "t3")
		require.Equal(t, quorum.Denied, waits.Verdict)
		for range 3 {
			require.Equal(t, line.InLine, (<-h).Kind)
		}
		b.servers[0].Set(conn.MarkKey, "another")
		outcomeOf(t, next, passOf("n", "t2", waits.Origin))
		require.NotContains(t, h.grants(2), 0)
		time.Sleep(time.Second)
		require.Empty(t, h)
	})
}
