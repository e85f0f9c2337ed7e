package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"muxlock/internal/quorum"
	"muxlock/internal/redisfake"
	"muxlock/pipeline/internal/conn"
)

const allNative = conn.Msetex | conn.Delex

func (b *bubble) native(d conn.Dialect) {
	setAll(b.fakes, func(f *fake) { f.native = d })
}

// acquireTogether acquires the names in one round, behind one that is under way.
func (b *bubble) acquireTogether(names ...string) []Outcome {
	b.Helper()
	outs := make([]Outcome, len(names))
	var all errgroup.Group
	all.Go(func() error {
		b.cycle("first")
		return nil
	})
	time.Sleep(time.Microsecond)
	for i, name := range names {
		all.Go(func() (err error) {
			req := Request{Op: Acquire, Name: name, Token: fmt.Sprint("token ", i), TTL: hour}
			outs[i], err = b.p.Do(context.Background(), req)
			return err
		})
	}
	require.NoError(b, all.Wait())
	return outs
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("name", i))
	}
	return names
}

func TestManyAcquiresAreOneCommandWhereTheServerHasIt(t *testing.T) {
	for _, d := range []conn.Dialect{0, conn.Msetex, conn.Delex, conn.Msetex | conn.Delifeq} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.native(d)
			b.started()
			for _, out := range b.acquireTogether(numbered(50)...) {
				require.Equal(t, quorum.Won, out.Verdict)
			}
			command := b.fakes[0].commands("name7")[0].args
			require.Equal(t, d&conn.Msetex != 0, command[0] == "MSETEX", command)
			b.ask(Request{Op: Release, Name: "name7", Token: "token 7", TTL: hour})
			time.Sleep(testTimeout) // the last master
			all := b.fakes[0].commands("name7")
			require.Equal(t, map[conn.Dialect]string{0: "EVALSHA", conn.Delex: "DELEX", conn.Delifeq: "DELIFEQ"}[d&^conn.Msetex], all[len(all)-1].args[0])
		})
	}
}

func TestRefusedBatchIsAskedForSingly(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.native(allNative)
		b.started()
		b.mustAcquire("name7")
		outs := b.acquireTogether(numbered(50)...)
		for i, out := range outs {
			if i == 7 {
				require.Equal(t, quorum.Denied, out.Verdict)
			} else {
				require.Equal(t, quorum.Won, out.Verdict)
			}
		}
		for _, m := range b.p.Stats().Masters {
			require.EqualValues(t, 1, m.BatchesRefused)
		}
		b.acquireTogether("more0", "more1", "more2", "more3", "more4", "more5", "more6", "more7", "more8")
		require.Equal(t, "SET", b.fakes[0].commands("more5")[0].args[0], "singly for a while")
	})
}

// MSETEX NX answers 1 to a name that is there twice, and both would have the lock.
func TestNameThatIsThereTwiceHasOneHolder(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.native(allNative)
		b.started()
		won := 0
		for _, out := range b.acquireTogether(append(numbered(20), "twice", "twice", "twice")...) {
			if out.Verdict == quorum.Won {
				won++
			}
		}
		require.Equal(t, 21, won)
	})
	for range 100 {
		entries := make([]Request, 100)
		for i := range entries {
			entries[i] = Request{Op: Acquire, Name: fmt.Sprint(rand.IntN(200)), Token: fmt.Sprint(i), TTL: time.Duration(1+rand.IntN(20)/19) * time.Second, Contended: rand.IntN(20) == 0}
		}
		requireNoNameTwice(t, entries, "")
		requireNoNameTwice(t, entries, "the set")
	}
}

// requireNoNameTwice checks each command for a round of acquires.
func requireNoNameTwice(t *testing.T, entries []Request, set string) {
	t.Helper()
	r, _ := newRound(1, entries...)
	l := r.in(allNative, "", set)
	for c := range l.Commands {
		args, _, err := redisfake.CutCommand(string(l.BytesOf(c, c+1)))
		require.NoError(t, err)
		from, to := l.EntriesOf(c)
		names := make(map[string]bool)
		for i, q := range entries[from:to] {
			require.False(t, names[q.Name], q.Name)
			names[q.Name] = true
			if to-from > 1 && set == "" {
				require.False(t, q.Contended, "alone")
				require.Equal(t, []string{q.Name, q.Token}, args[2+2*i:4+2*i])
				require.Equal(t, fmt.Sprint(q.TTL.Milliseconds()), args[len(args)-1])
			}
		}
	}
}

func TestConnectionThatIsCutAfterARefusedBatchLeavesNothingLocked(t *testing.T) {
	for _, executed := range []bool{false, true} {
		for single := range 3 {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.native(allNative)
				b.started()
				b.mustAcquire("name7")
				f, seen := b.fakes[0], 0
				f.answer(func(args []string) string {
					if args[0] != "SET" || args[1] == "first" {
						return ""
					}
					if seen++; seen == 1+10*single {
						f.cutLocked()
						if !executed {
							return "-ERR never read\r\n"
						}
					}
					return ""
				})
				outs := b.acquireTogether(numbered(30)...)
				for i, out := range outs {
					require.Equal(t, i != 7, out.Verdict == quorum.Won, "by the others")
					b.ask(Request{Op: Release, Name: fmt.Sprint("name", i), Token: fmt.Sprint("token ", i), TTL: hour, Origin: out.Origin})
				}
				b.mustRelease("name7", 0)
				b.untilUp(3)
				time.Sleep(10 * time.Second) // pending releases
				b.requireNoKeys()
			})
		}
	}
}

// Each server answers the trial as if it had the commands, but for one answer.
func TestServerIsSentWhatItProvedToHave(t *testing.T) {
	for name, c := range map[string]struct {
		lies func(args []string) string
		want conn.Dialect
	}{
		"has all":       {func([]string) string { return "" }, allNative},
		"has none":      {func(args []string) string { return errorTo(args, "MSETEX", "DELEX", "-ERR unknown command") }, 0},
		"denies MSETEX": {func(args []string) string { return errorTo(args, "MSETEX", "", "-NOPERM no permissions to run it") }, conn.Delex},
		"denies DELEX":  {func(args []string) string { return errorTo(args, "DELEX", "", "-NOPERM no permissions to run it") }, conn.Msetex},
		"takes what is held": {func(args []string) string {
			return map[bool]string{true: ":1\r\n"}[args[0] == "MSETEX" && args[1] == "2"]
		}, conn.Delex},
		"deletes for any value": {func(args []string) string { return map[bool]string{true: ":1\r\n"}[args[0] == "DELEX"] }, conn.Msetex},
		"sets no lease":         {func(args []string) string { return map[bool]string{true: ":-1\r\n"}[args[0] == "PTTL"] }, conn.Delex},
	} {
		inBubble(t, 1, func(t *testing.T, b *bubble) {
			b.native(allNative)
			b.fakes[0].hook = c.lies
			p := b.started()
			require.Equal(t, c.want, p.masters[0].dialect, name)
			b.cycle("a")
		})
	}
}

func errorTo(args []string, one, other, text string) string {
	if args[0] == one || args[0] == other {
		return text + "\r\n"
	}
	return ""
}

func TestProxyThatCutsOffWhatItDoesNotKnowIsUsedWithoutIt(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		f.hook = func(args []string) string {
			if args[0] == "MSETEX" {
				f.cutLocked()
			}
			return ""
		}
		b.native(allNative)
		b.started()
		b.untilUp(3)
		require.Zero(t, b.p.masters[0].dialect)
		b.cycle("a")
		// Or it was no proxy: the connection was lost just then.
		f.set(func() { f.hook = nil })
		f.cut()
		synctest.Wait()
		b.untilUp(3)
		require.Zero(t, b.p.masters[0].dialect, "it is not tried again")
		f.restart()
		synctest.Wait()
		b.untilUp(3)
		require.Equal(t, allNative, b.p.masters[0].dialect, "it may be another server")
	})
}

// A server loses a command when a proxy goes over to another server. The pipeline finds out.
func TestServerThatHasACommandNoMoreIsAdmittedWithout(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.native(allNative)
		b.started()
		b.native(0)
		outs := make(chan Outcome, 20)
		for i := range 20 {
			go func() {
				out, _ := b.acquire(t.Context(), fmt.Sprint(i))
				outs <- out
			}()
		}
		require.Equal(t, quorum.Won, (<-outs).Verdict, "one went ahead, alone")
		for range 19 {
			out := <-outs
			require.Equal(t, quorum.NoQuorum, out.Verdict)
			require.ErrorContains(t, out.Causes[0], "unknown command")
		}
		synctest.Wait() // it is set aside
		b.untilUp(1)
		require.Zero(t, b.p.masters[0].dialect)
		b.cycle("a")
	})
}

func TestPipelineThatTakesFewAcquiresIsSentNothingNew(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.cfg.Queue = conn.FoldFrom - 1
		b.native(allNative)
		b.started()
		b.acquireTogether(numbered(b.cfg.Queue)...)
		for _, l := range b.fakes[0].commands("") {
			require.NotContains(t, []string{"MSETEX", "DELEX", "DELIFEQ"}, l.args[0])
		}
	})
}

// Rounds that meet refusals are asked for twice. The pause bounds their share.
func TestPauseBoundsTheRoundsThatAreAskedForTwice(t *testing.T) {
	for _, c := range []struct{ refused, twice, atOnce float64 }{
		{0, 0, 1}, {0.01, 0.01, 0.9}, {0.1, 0.06, 0.4}, {0.5, 0.02, 0}, {1, 0.003, 0},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		var o optimism
		twice, atOnce := 0, 0
		const rounds = 100_000
		for range rounds {
			switch {
			case !o.takes():
			case rng.Float64() < c.refused:
				twice++
				o.refused()
			default:
				atOnce++
				o.granted()
			}
		}
		t.Logf("%.0f %% refused: %.2f %% of the rounds asked for twice, %.1f %% at once", 100*c.refused, 100*float64(twice)/rounds, 100*float64(atOnce)/rounds)
		require.LessOrEqual(t, float64(twice)/rounds, c.twice)
		require.GreaterOrEqual(t, float64(atOnce)/rounds, c.atOnce)
	}
}

func TestOnlyRoundsThatHaveABatchOfAcquiresEndAPause(t *testing.T) {
	m := &master{link: link{dialect: allNative, optimism: optimism{rounds: 2}}}
	for _, c := range []struct {
		acquires, contended, releases, left int
	}{{0, 0, 100, 2}, {conn.FoldFrom - 1, 100, 100, 2}, {conn.FoldFrom, 0, 0, 1}, {100, 0, 0, 0}} {
		r := new(round)
		add := func(n int, q Request) {
			for range n {
				r.add(&call{req: q})
			}
		}
		add(c.acquires, Request{Op: Acquire})
		add(c.contended, Request{Op: Acquire, Contended: true})
		add(c.releases, Request{Op: Release})
		m.dialectLocked(r)
		require.Equal(t, c.left, m.optimism.rounds, "%+v", c)
	}
}
