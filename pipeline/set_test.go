package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/quorum"
	"muxlock/internal/testing/draw"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// setOf returns the acquires of a set.
func setOf(number uint64, names ...string) (reqs []Request) {
	for _, name := range names {
		reqs = append(reqs, Request{Op: Acquire, Name: name, Token: fmt.Sprint("set ", number, " of ", name), TTL: hour, Joint: number})
	}
	return reqs
}

// releasesOf returns the releases of what was acquired.
func releasesOf(reqs []Request, origin Origin) (releases []Request) {
	for _, q := range reqs {
		releases = append(releases, Request{Op: Release, Name: q.Name, Token: q.Token, TTL: q.TTL, Origin: origin})
	}
	return releases
}

func verdicts(t testing.TB, results []result) (verdicts []quorum.Verdict) {
	for _, r := range results {
		require.NoError(t, r.Err)
		verdicts = append(verdicts, r.Outcome.Verdict)
	}
	return verdicts
}

func TestSetIsTakenWholeOrNotAtAll(t *testing.T) {
	for _, d := range []conn.Dialect{0, allNative} {
		for _, size := range []int{2, 7, 8, 40, limits.SetNames} {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.native(d)
				b.started()
				origin := b.mustAcquire("name1").Origin
				set := setOf(1, numbered(size)...)
				for i, r := range b.doMany(t.Context(), set) {
					require.NoError(t, r.Err)
					require.Equal(t, quorum.Denied, r.Outcome.Verdict)
					require.Equal(t, i == 1, r.Outcome.Held >= 2, "the name that keeps it: %+v", r.Outcome)
					require.Equal(t, i != 1, r.Outcome.Held == 0)
				}
				time.Sleep(testTimeout)
				for _, f := range b.fakes {
					require.Equal(t, []string{"name1"}, f.keys())
				}
				b.mustRelease("name1", origin)
				rounds := b.p.Stats().Rounds
				results := b.doMany(t.Context(), set)
				require.Equal(t, slices.Repeat([]quorum.Verdict{quorum.Won}, size), verdicts(t, results))
				require.Equal(t, rounds+1, b.p.Stats().Rounds)
				time.Sleep(testTimeout)
				for _, f := range b.fakes {
					require.Len(t, f.keys(), size)
				}
				b.doMany(t.Context(), releasesOf(set, results[0].Outcome.Origin))
				time.Sleep(testTimeout)
				b.requireNoKeys()
			})
		}
	}
}

// What shares a round with a set, on either side, keeps its own votes.
func TestSetsAndOthersShareRounds(t *testing.T) {
	for _, d := range []conn.Dialect{0, allNative} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.native(d)
			b.started()
			b.mustAcquire("held")
			for _, before := range []int{0, 1, 9} {
				reqs := acquires(before)
				reqs = append(reqs, setOf(7, "a", "b", "c")...)
				reqs = append(reqs, setOf(8, "d", "held")...)
				reqs = append(reqs, setOf(9, "c", "e")...) // crosses the first, and may come before it where that is repeated
				reqs = append(reqs, setOf(10, "f", "g")...)
				reqs = append(reqs, Request{Op: Acquire, Name: "last", Token: "token of last", TTL: hour})
				won, denied := quorum.Won, quorum.Denied
				results := b.doMany(t.Context(), reqs)
				want := append(slices.Repeat([]quorum.Verdict{won}, before), won, won, won, denied, denied, denied, denied, won, won, won)
				if results[before].Outcome.Verdict == denied {
					copy(want[before:], []quorum.Verdict{denied, denied, denied, denied, denied, won, won})
				}
				require.Equal(t, want, verdicts(t, results))
				b.doMany(t.Context(), releasesOf(reqs, results[0].Outcome.Origin))
			}
			time.Sleep(testTimeout)
			for _, f := range b.fakes {
				require.Equal(t, []string{"held"}, f.keys())
			}
		})
	}
}

// commandsOf returns the entries of each command for a load of sets and others, in a dialect.
func commandsOf(d conn.Dialect, set string, entries []Request) (commands [][]Request) {
	l := conn.Load{Entries: entries, Dialect: d}
	l.Seal(set)
	for c := range l.Commands {
		from, to := l.EntriesOf(c)
		commands = append(commands, entries[from:to])
	}
	return commands
}

func TestNoCommandCutsASetOrChoice(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		var entries []Request
		for number := uint64(1); len(entries) < 1200; number++ {
			q := Request{Op: []Op{Acquire, Acquire, Release, Extend}[random.IntN(4)], TTL: hour, Alone: random.IntN(40) == 0, Contended: random.IntN(9) == 0}
			n := 1
			if q.Op == Acquire && random.IntN(2) == 0 {
				q.Joint, n = number, 2+random.IntN(6)
				if random.IntN(40) == 0 {
					n = 400 + random.IntN(300)
				} else if q.OneOf = random.IntN(2) == 0; q.OneOf {
					n = 2 + random.IntN(60)
				}
			}
			first := random.IntN(100_000)
			for i := range n {
				q.Name = fmt.Sprint(first + i)
				entries = append(entries, q)
			}
		}
		for _, d := range []conn.Dialect{0, allNative} {
			for _, set := range []string{"", "the set"} {
				for _, command := range commandsOf(d, set, entries) {
					require.True(t, len(command) <= conn.FoldMax || conn.UnitEnd(command, 0) == len(command), "only a set is larger")
					for _, q := range command {
						require.True(t, !q.Alone || conn.UnitEnd(command, 0) == len(command), "seed %d", seed)
					}
				}
				at := 0
				for _, command := range commandsOf(d, set, entries) {
					if command[0].Joint == 0 && command[0].Op == Acquire && set == "" {
						require.False(t, slices.ContainsFunc(command, func(q Request) bool { return q.OneOf }), "seed %d: an MSETEX carries a choice", seed)
					}
					at += len(command)
					require.False(t, at < len(entries) && entries[at].Joint != 0 && entries[at].Joint == entries[at-1].Joint, "seed %d: cut at %d", seed, at)
				}
			}
		}
	}
}

func TestSetLargerThanARoundIsNotCut(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.cost(300 * time.Microsecond)
		all(300, func(i int) { b.mustAcquire(fmt.Sprint("warm", i)) })
		synctest.Wait() // until the masters have room again
		b.p.mu.Lock()
		limit := b.p.roundLimitLocked()
		b.p.mu.Unlock()
		require.Less(t, limit, 900)
		var reqs []Request
		for s := range uint64(3) {
			for i := range 300 {
				reqs = append(reqs, setOf(s+1, fmt.Sprint("name ", s, " ", i))...)
			}
		}
		rounds := b.p.Stats().Rounds
		results := b.doMany(t.Context(), reqs)
		require.Greater(t, b.p.Stats().Rounds, rounds+1, "the sets do not fit into one")
		for s := range 3 {
			for _, r := range results[300*s:][:300] {
				require.Equal(t, results[300*s].Outcome, r.Outcome)
			}
		}
	})
}

func TestSetBeyondTheQueueIsRefusedWhole(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Queue = 10
		b.started()
		reqs := append(setOf(1, numbered(7)...), setOf(2, "a", "b", "c", "d")...)
		reqs = append(reqs, setOf(3, "e", "f")...)
		for i, r := range b.doMany(t.Context(), reqs) {
			if 7 <= i && i < 11 {
				require.ErrorIs(t, r.Err, ErrOverloaded)
			} else {
				require.NoError(t, r.Err)
				require.Equal(t, quorum.Won, r.Outcome.Verdict)
			}
		}
		require.EqualValues(t, 1, b.p.Stats().Overloaded, "one call")
		require.Zero(t, b.p.acquires.Load())
	})
}

// halfTaken fails the test if a command asks for a part of a set of four.
func halfTaken(b *bubble, f *fake) func([]string) string {
	return func(args []string) string {
		if args[0] != "EVALSHA" || args[1] != scripts.Batch.SHA1 {
			return ""
		}
		for _, e := range batchEntries(args) {
			if e.op == Acquire {
				assert.Equal(b, 4, e.set)
			}
		}
		return ""
	}
}

// partIn returns a part of a round.
func partIn(seq uint64, entries ...Request) part {
	r, _ := newRound(1, entries...)
	r.seq = seq
	r.begin(1)
	return r.whole()
}

// A late master that is sent one half of a set would vote for a set that it does not have.
func TestSetOfWhichSomeAreReleasedIsAskedForWholeByALateMaster(t *testing.T) {
	set := setOf(1, "a", "b", "c")
	undo := releasesOf(set, conn.InRound(7))
	rest, _ := compact(partIn(7).r.masters[0], []part{
		partIn(7, append(slices.Clone(set), Request{Op: Acquire, Name: "d", Token: "token of d"})...),
		partIn(8, undo[0], undo[2], releaseOf("d", conn.InRound(7))),
	})
	require.Equal(t, set, rest[0].Entries)
	require.Equal(t, []Request{undo[0], undo[2]}, rest[1].Entries)

	rest, _ = compact(partIn(7).r.masters[0], []part{partIn(7, set...), partIn(8, undo[:2]...), partIn(9, undo[2])})
	for _, p := range rest {
		require.Empty(t, p.Entries)
	}
}

func TestSetIsNotRepeatedBehindTheReleaseOfOneOfIt(t *testing.T) {
	set := append(setOf(1, "a", "b", "c"), setOf(2, "d", "e")...)
	p := partIn(7, set...)
	rest := p.repeat(p.r.masters[0], []int{0}, true, map[string]bool{set[2].Token: true})
	require.Len(t, rest.Entries, 2)
	require.Equal(t, "d", rest.Entries[0].Name)
	require.Equal(t, [][]Request{rest.Entries}, commandsOf(allNative, "", rest.Entries), "together, but no MSETEX")
	require.True(t, rest.Entries[0].Contended)
	for i := range 3 {
		require.Equal(t, quorum.Tally{Unknown: 1}, p.r.ballots[i].tally)
	}
}

// Where an ACL denies a name of a set, all of the set is denied, and the sets beside it are not.
func TestNameThatIsDeniedDeniesItsSet(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		each(b.fakes, func(f *fake) { f.denies("denied") })
		reqs := slices.Concat(setOf(1, "a", "b"), setOf(2, "c", "denied"), setOf(3, numbered(9)...))
		for i, r := range b.doMany(t.Context(), reqs) {
			require.NoError(t, r.Err)
			if 2 <= i && i < 4 {
				require.Equal(t, quorum.NoQuorum, r.Outcome.Verdict)
				require.ErrorIs(t, r.Outcome.Denied, ErrDenied)
			} else {
				require.Equal(t, quorum.Won, r.Outcome.Verdict)
			}
		}
		time.Sleep(testTimeout)
		require.Len(t, b.fakes[0].keys(), 11)
	})
}

func TestFencedSetHasATokenForEachName(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		ask := func(reqs []Request) (outs []Outcome) {
			b.p.DoMany(t.Context(), reqs, func(_ int, out *Outcome, err error) {
				require.NoError(t, err)
				outs = append(outs, *out)
			})
			return outs
		}
		require.Equal(t, quorum.Won, b.ask(Acquire, "held").Verdict)
		set := setOf(1, "a", "b", "c")
		outs := ask(slices.Concat(set, setOf(2, "d", "held", "e"), setOf(3, "f", "g")))
		for i, out := range outs {
			switch {
			case 3 <= i && i < 6:
				require.Equal(t, quorum.Denied, out.Verdict)
				require.Equal(t, i == 4, out.Held > 0)
			default:
				require.Equal(t, quorum.Won, out.Verdict)
				require.NotZero(t, out.Fence)
				require.Equal(t, outs[i/6*6].Granted, out.Granted)
			}
		}
		time.Sleep(time.Second)
		require.Equal(t, 2, b.count(0, scripts.FencedAcquire), "one for the first, one for all sets")
		var first []uint64
		for i := range set {
			first = append(first, outs[i].Fence)
		}
		ask(releasesOf(set, outs[0].Origin))
		for i, out := range ask(set) {
			require.Greater(t, out.Fence, first[i])
		}
	})
}

// inLateBubble has callers ask 30 times each of masters of which one is late and cut, in each dialect. Nothing may be left, and no
// command may ask for a part of a set or choice of four.
func inLateBubble(t *testing.T, callers int, ask func(b *bubble, random *rand.Rand, number uint64)) {
	for _, d := range []conn.Dialect{0, allNative} {
		seed := draw.Seed(t)
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.native(d)
			b.started()
			setAll(b.fakes, func(f *fake) { f.hook = halfTaken(b, f) })
			var running sync.WaitGroup
			for w := range callers {
				random := rand.New(rand.NewPCG(seed, uint64(w)+1))
				running.Go(func() {
					for i := range 30 {
						ask(b, random, uint64(1+w*30+i))
					}
				})
			}
			b.lateWhile(&running, rand.New(rand.NewPCG(seed, 0)))
			time.Sleep(10 * time.Second) // the second releases
			b.requireNoKeys()
			b.requireBooksBalance()
			b.requireNothingPending()
		})
	}
}

func TestNothingOfASetIsLostOnAMasterThatComesAndGoesLate(t *testing.T) {
	inLateBubble(t, 60, func(b *bubble, random *rand.Rand, number uint64) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Duration(random.IntN(20_000))*time.Microsecond)
		names := make([]string, 4)
		for j := range names {
			names[j] = fmt.Sprint("name ", j, " ", random.IntN(60))
		}
		set := setOf(number, names...)
		outs := make([]Outcome, 4)
		failed := false
		b.p.DoMany(ctx, set, func(j int, out *Outcome, err error) {
			outs[j], failed = *out, failed || err != nil
		})
		cancel()
		if failed {
			for j := range set {
				b.p.Post(releasesOf(set, OriginUnknown)[j])
			}
			return
		}
		for _, out := range outs {
			assert.Equal(t, outs[0].Tally, out.Tally)
		}
		if random.IntN(4) == 0 {
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		}
		undo := releasesOf(set, outs[0].Origin)
		if random.IntN(2) == 0 { // as of one that is handed over
			first := undo[0]
			time.AfterFunc(time.Duration(random.IntN(50))*time.Millisecond, func() { b.p.Post(first) })
			undo = undo[1:]
		}
		b.p.DoMany(context.Background(), undo, func(int, *Outcome, error) {})
	})
}
