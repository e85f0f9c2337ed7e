package pipeline

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// choiceOf returns the acquires of a choice.
func choiceOf(number uint64, names ...string) []Request {
	reqs := setOf(number, names...)
	for i := range reqs {
		reqs[i].OneOf = true
	}
	return reqs
}

// holds gives a name on a master to somebody else.
func (f *fake) holds(names ...string) {
	f.set(func() {
		for _, name := range names {
			f.data[name] = value{"of another process", time.Now().Add(hour)}
		}
	})
}

// released returns how many releases of a name a master has executed.
func (f *fake) released(name string) (n int) {
	for _, c := range f.commands(name) {
		switch {
		case c.args[0] == "DELEX", c.args[0] == "EVALSHA" && c.args[1] == scripts.Release.SHA1:
			n++
		case c.args[0] == "EVALSHA" && c.args[1] == scripts.Batch.SHA1:
			for _, e := range batchEntries(c.args) {
				if e.op == Release && e.name == name {
					n++
				}
			}
		}
	}
	return n
}

func TestFirstOfAChoiceThatIsFreeIsTaken(t *testing.T) {
	for _, d := range []conn.Dialect{0, allNative} {
		for _, size := range []int{2, 8, 64} {
			inBubble(t, 5, func(t *testing.T, b *bubble) {
				b.native(d)
				b.started()
				each(b.fakes, func(f *fake) { f.holds("name0") })
				rounds := b.p.Stats().Rounds
				results := b.doMany(t.Context(), choiceOf(1, numbered(size)...))
				for i, r := range results {
					require.NoError(t, r.Err)
					require.Equal(t, map[bool]quorum.Verdict{true: quorum.Won, false: quorum.Denied}[i == 1], r.Outcome.Verdict)
				}
				time.Sleep(testTimeout)
				require.Equal(t, rounds+1, b.p.Stats().Rounds, "nothing is to be released")
				for _, f := range b.fakes {
					require.ElementsMatch(t, []string{"name0", "name1"}, f.keys())
				}
			})
		}
	}
}

// What is granted beside the winner is released by the pipeline, also by masters that answer after the verdict.
func TestSurplusOfAChoiceIsReleased(t *testing.T) {
	for _, d := range []conn.Dialect{0, allNative} {
		for _, late := range []bool{false, true} {
			inBubble(t, 5, func(t *testing.T, b *bubble) {
				b.native(d)
				b.started()
				for i, f := range b.fakes {
					if i < 2 {
						f.holds("a")
					}
					if late == (i < 2) {
						f.set(func() { f.delay = testTimeout / 2 })
					}
				}
				results := b.doMany(t.Context(), choiceOf(1, "a", "b", "c"))
				require.Equal(t, []quorum.Verdict{quorum.Won, quorum.Denied, quorum.Denied}, verdicts(t, results))
				require.Equal(t, late, results[1].Outcome.Tally.Granted == 0, "the verdict comes before their answers")
				time.Sleep(2 * testTimeout)
				for i, f := range b.fakes {
					require.Equal(t, []string{"a"}, f.keys(), "master %d", i)
					require.Equal(t, 1, f.released("b"))
					require.Zero(t, f.released("c"), "no master has granted it")
				}
			})
		}
	}
}

// Each slot has a vote of each master: votes on one are none on another.
func TestVotesOnTwoOfAChoiceAreNotAddedUp(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.fakes[0].holds("a", "b")
		b.fakes[1].holds("a", "c")
		b.fakes[2].holds("b", "c")
		require.Equal(t, slices.Repeat([]quorum.Verdict{quorum.Denied}, 3), verdicts(t, b.doMany(t.Context(), choiceOf(1, "a", "b", "c"))))
		time.Sleep(testTimeout)
		for i, f := range b.fakes {
			require.Len(t, f.keys(), 2, "master %d", i)
		}
	})
}

// A master that is away has nothing, so nothing is released for its sake.
func TestMasterThatIsAwayCausesNoReleaseOfAChoice(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.fakes[2].leave()
		b.untilUp(2)
		require.Equal(t, quorum.Won, verdicts(t, b.doMany(t.Context(), choiceOf(1, "a", "b")))[0])
		time.Sleep(testTimeout)
		for _, f := range b.fakes[:2] {
			require.Equal(t, []string{"a"}, f.keys())
			require.Zero(t, f.released("b"))
		}
	})
}

// A master whose connection ends may have granted any of a choice.
func TestMasterThatGoesAwayKeepsNothingOfAChoice(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.fakes[2].holds("a")
		b.fakes[2].set(func() { b.fakes[2].unheard = true })
		require.Equal(t, quorum.Won, verdicts(t, b.doMany(t.Context(), choiceOf(1, "a", "b")))[0])
		synctest.Wait()
		require.ElementsMatch(t, []string{"a", "b"}, b.fakes[2].keys())
		b.fakes[2].set(func() { b.fakes[2].unheard = false; b.fakes[2].cutLocked() })
		b.untilUp(3)
		time.Sleep(testTimeout)
		require.Equal(t, []string{"a"}, b.fakes[2].keys())
	})
}

func TestFencedChoiceHasOneToken(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		last, before := uint64(0), len(b.sent(scripts.Release, scripts.Batch))
		for _, want := range []int{0, 1, 2, -1} {
			b.p.DoMany(t.Context(), choiceOf(1, "a", "b", "c"), func(i int, out *Outcome, err error) {
				require.NoError(t, err)
				if i != want {
					require.Equal(t, quorum.Denied, out.Verdict)
					require.Zero(t, out.Fence)
					return
				}
				require.Equal(t, quorum.Won, out.Verdict)
				require.NotZero(t, out.Fence)
				last = out.Fence
			})
		}
		require.NotZero(t, last)
		require.Len(t, b.sent(scripts.Release, scripts.Batch), before, "nothing is to be released")
	})
}

// Nobody shares a slot.
func TestNothingOfAChoiceIsLeftOnAMasterThatComesAndGoesLate(t *testing.T) {
	var mu sync.Mutex
	holders, won := make(map[string]bool), 0
	inLateBubble(t, 40, func(b *bubble, random *rand.Rand, number uint64) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Duration(random.IntN(20_000))*time.Microsecond)
		names := numbered(12)
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		reqs := choiceOf(number, names[:4]...)
		has, origin := -1, OriginUnknown
		b.p.DoMany(ctx, reqs, func(j int, out *Outcome, err error) {
			if err == nil && out.Verdict == quorum.Won {
				assert.Equal(t, -1, has)
				has, origin = j, out.Origin
			}
		})
		cancel()
		if has < 0 {
			return
		}
		mu.Lock()
		assert.False(t, holders[names[has]])
		holders[names[has]], won = true, won+1
		mu.Unlock()
		time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
		mu.Lock()
		delete(holders, names[has])
		mu.Unlock()
		b.doMany(context.Background(), releasesOf(reqs[has:has+1], origin))
	})
	require.Greater(t, won, 200)
}

// A choice is over with the release of one of it. A late master that was still asked would give its slots to nobody.
func TestChoiceThatIsOverIsNotAskedOfALateMaster(t *testing.T) {
	choice := setOf(1, "a", "b", "c")
	for i := range choice {
		choice[i].OneOf = true
	}
	undo := releasesOf(choice, conn.InRound(7))
	p := partIn(7, choice...)
	rest, _ := compact(p.r.masters[0], []part{p, partIn(8, undo[1])})
	require.Empty(t, rest[0].Entries)
	require.Empty(t, rest[1].Entries)
	for _, b := range p.r.ballots {
		require.Equal(t, quorum.Tally{Refused: 1}, b.tally, "nothing to release")
	}
}

// A lateConn's writes return late.
type lateConn struct {
	net.Conn
	wait func()
}

func (c lateConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wait()
	return n, err
}

func TestCloseSendsWhatAChoiceLeavesOverAlsoWhereTheAnswerComesBeforeTheWriteEnds(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		var late atomic.Bool
		ended := make(chan struct{})
		b.cfg.Masters[2].Option.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
			conn, err := b.fakes[2].dial(ctx, address, d, c)
			return lateConn{conn, func() {
				if late.Load() {
					<-ended
				}
			}}, err
		}
		b.started()
		each(b.fakes[:2], func(f *fake) { f.holds("a", "b") })
		late.Store(true)
		for _, r := range b.doMany(t.Context(), choiceOf(1, "a", "b")) {
			require.Equal(t, quorum.Denied, r.Outcome.Verdict)
		}
		time.Sleep(testTimeout / 4)
		require.Equal(t, []string{"a"}, b.fakes[2].keys())
		closed := side(b.p.Close)
		synctest.Wait()
		late.Store(false)
		close(ended)
		closed()
		require.Empty(t, b.fakes[2].keys())
	})
}
