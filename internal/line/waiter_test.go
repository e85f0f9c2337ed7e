package line

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms  = time.Millisecond
	e10 = 10 * time.Second
)

// A tale is what happens to one of five masters' waiters.
type tale struct {
	Waiter[string, instant]
	now    instant
	tokens int
}

// joined returns one that has joined after a wait of a second.
func joined(change ...func(*Terms[instant])) *tale {
	a := &tale{now: instant(time.Hour)}
	a.Terms = Terms[instant]{Began: a.now.Add(-time.Second), TTL: 30 * time.Second, Masters: 5, Quorum: 3}
	for _, c := range change {
		c(&a.Terms)
	}
	a.rejoin()
	return a
}

func fenced(t *Terms[instant]) { t.Fenced = true }

func (a *tale) rejoin() {
	a.tokens++
	a.Waiter = a.Join(fmt.Sprint("m", a.tokens))
	a.Trip = ms
	a.asks()
}

func (a *tale) asks() Request {
	r, _ := a.Request(a.now)
	return r
}

func (a *tale) passes(d time.Duration) { a.now = a.now.Add(d) }

// hears returns what the answers command, which are by master.
func (a *tale) hears(answers ...Answer[string]) (all []Command[string]) {
	for m, one := range answers {
		if one.Version == 0 {
			one.Version = a.Place.version
		}
		if c := a.Hear(m, one, OpenFor+ms, a.now); c != (Command[string]{}) {
			all = append(all, c)
		}
	}
	return all
}

func all(a Answer[string]) []Answer[string] { return []Answer[string]{a, a, a, a, a} }

func inLine(rank int, value string) Answer[string] {
	return Answer[string]{Kind: InLine, Rank: rank, Value: value}
}

var (
	none Answer[string]
	has  = Answer[string]{Kind: Has, Lease: e10}
	free = inLine(1, "")
	its  = inLine(1, "x")

	nothing []Command[string]
	atOnce  = again(0, 0)
	soon    = again(ShortHold+2*ms, ShortHold+2*ms)
	stray   = again(4*ms, 8*ms)
)

func again(from, to time.Duration) Command[string] {
	return Command[string]{Again: true, From: from, To: to}
}

func TestWaiterJoinsAndThenStays(t *testing.T) {
	a := joined()
	want := Request{Version: 1, Lease: Passed(30 * time.Second), Stale: stale(30 * time.Second), Waited: time.Second}
	fresh := Waiter[string, instant]{Terms: a.Terms}
	fresh = fresh.Join("m")
	r, next := fresh.Request(a.now)
	require.Equal(t, want, r)
	require.Equal(t, shortestStay, next)
	a.passes(5 * time.Second)
	want.Version, want.Stay, want.Waited, want.Queued = 2, true, 6*time.Second, true
	r, next = fresh.Request(a.now)
	require.Equal(t, want, r)
	require.Equal(t, longestStay, next)
}

func TestWaiterAsksToBeGrantedOnlyWhatItCouldHold(t *testing.T) {
	for masters := 1; masters <= 5; masters++ {
		quorum := masters/2 + 1
		each(masters, ".mbx", func(values []string) { // x: it did not answer
			a := joined(func(of *Terms[instant]) { of.Masters, of.Quorum = masters, quorum })
			require.False(t, a.Queued, "nothing is known")
			require.True(t, a.asks().Queued, "nothing was answered")
			possible, won := 0, false
			answers := make([]Answer[string], masters)
			for m, v := range values {
				switch v {
				case "x":
					continue
				case "m":
					answers[m] = has
				default:
					answers[m] = inLine(1, v)
				}
				if v != "b" {
					possible++
				}
			}
			commands := a.hears(answers...)
			for _, c := range commands {
				won = won || c.Won
			}
			require.Equal(t, possible >= quorum, won || slices.Contains(commands, atOnce), "%q", values)
			require.Equal(t, possible < quorum, a.asks().Queued, "%q", values)
		})
	}
}

func TestMasterThatIsTakenMeanwhileIsNotFree(t *testing.T) {
	a := joined()
	says := Answer[string]{Kind: Free}
	a.hears(none, says, says, says, says)
	a.hears(none, none, its, none, its)
	require.True(t, a.asks().Queued)
}

func TestReadersAreNotFree(t *testing.T) {
	a := joined()
	a.asks()
	require.NotContains(t, a.hears(free, free, inLine(1, "readers"), its, its), atOnce)
	require.True(t, a.asks().Queued)
}

// An alarm is no more than a guess, since each renewal raises one. A stopped master would carry out the request when it goes on,
// and keep the name from the holder who lost it there.
func TestOnlyTheWordOfTheHolderOrOfAQuorumAsksToBeGranted(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(a *tale) []Command[string]
		want    []Command[string]
		after   time.Duration
		queued  bool
	}{
		"an alarm":                 {func(a *tale) []Command[string] { return []Command[string]{a.Watched(true)} }, []Command[string]{atOnce}, 0, true},
		"no alarm":                 {func(a *tale) []Command[string] { return a.hears() }, nothing, 0, true},
		"a minority is free":       {func(a *tale) []Command[string] { return a.hears(Answer[string]{Kind: Free}) }, []Command[string]{soon}, 0, true},
		"a quorum says it is free": {func(a *tale) []Command[string] { return a.hears(all(Answer[string]{Kind: Free})[:3]...) }, []Command[string]{soon, soon, soon}, 0, false},
		"it is left open": {
			func(a *tale) []Command[string] { return a.hears(all(Answer[string]{Kind: Opened})...) },
			[]Command[string]{{Again: true, From: OpenFor + ms, To: OpenFor + ms, Spot: true}}, OpenFor + ms, false,
		},
		"it is left open, but not yet to waiters": {
			func(a *tale) []Command[string] { return a.hears(Answer[string]{Kind: Opened})[:0] }, []Command[string]{}, OpenFor, true,
		},
	} {
		a := joined()
		a.hears(all(its)...)
		require.Equal(t, c.want, c.happens(a), name)
		a.passes(c.after)
		require.Equal(t, c.queued, a.asks().Queued, name)
	}
}

func TestNameThatIsLeftOpenIsTakenOutOfTurnOnce(t *testing.T) {
	a := joined()
	a.hears(Answer[string]{Kind: Opened})
	require.Equal(t, nothing, a.hears(none, Answer[string]{Kind: Opened}, Answer[string]{Kind: Free}, free), "it is left to others")
	require.Zero(t, a.Watched(true))
	a.passes(OpenFor)
	r, next := a.Request(a.now)
	require.False(t, r.Told)
	require.Equal(t, ms, next)
	require.Equal(t, nothing, a.hears(all(inLine(2, ""))...))
	a.passes(ms)
	require.True(t, a.asks().Told)
	require.False(t, a.asks().Told)
	require.NotEqual(t, nothing, a.hears(Answer[string]{Kind: Opened}), "the next time")
}

func TestWaiterBehindManyThatAreGoneAsksAgainWhileTheLineGetsShorter(t *testing.T) {
	a := joined()
	for _, c := range []struct {
		rank int
		want []Command[string]
	}{{64, []Command[string]{soon}}, {64, nothing}, {65, nothing}, {63, []Command[string]{soon}}, {0, []Command[string]{{Watch: true}}}, {0, nothing}, {1, []Command[string]{soon}}} {
		require.Equal(t, c.want, a.hears(inLine(c.rank, "")), "%d", c.rank)
	}
	require.Equal(t, nothing, joined().hears(its), "the name is not free")
}

func TestFirstInLineWatchesTheName(t *testing.T) {
	a := joined()
	watch := []Command[string]{{Watch: true}}
	a.hears(its)
	require.Equal(t, watch, a.hears(inLine(0, "x")))
	require.Equal(t, nothing, a.hears(inLine(0, "x"), inLine(0, "x")), "once at a time")
	alarmed := func() [2]time.Duration {
		from, to := a.Alarmed("readers", ms, ms/2)
		return [2]time.Duration{from, to}
	}
	slow := [2]time.Duration{ms, ms * 3 / 2}
	require.Equal(t, ShortHold, a.Watch("readers"))
	require.Zero(t, a.Watched(false))
	for _, value := range []string{"x", "x", ""} {
		require.Equal(t, watch, a.hears(inLine(0, value))[:1])
		require.Equal(t, ShortHold, a.Watch("readers"))
		require.Equal(t, slow, alarmed())
		require.Equal(t, atOnce, a.Watched(true))
		require.True(t, a.asks().Queued, "it may have been a renewal")
	}
	a.hears(inLine(0, "x"), inLine(0, "y"), inLine(0, "y"))
	require.Equal(t, ShortHold, a.Watch("readers"))
	require.Zero(t, alarmed(), "it was overtaken")
	require.Equal(t, atOnce, a.Watched(true))
	require.False(t, a.asks().Queued)
	require.Equal(t, watch, a.hears(inLine(0, "y")))
	require.Zero(t, a.Watch("readers"))
	require.Equal(t, slow, alarmed(), "the same has it")
	a.Watched(false)
	require.Equal(t, watch, a.hears(inLine(0, "readers")))
	require.Zero(t, a.Watch("readers"))
	require.Zero(t, alarmed(), "readers pass nothing on")
}

func TestOneOfThoseWhoSplitTheVotesAsksAgainAndTheOthersYieldToIt(t *testing.T) {
	for masters := 1; masters <= 5; masters++ {
		quorum := masters/2 + 1
		each(masters, ".abc", func(values []string) {
			leaders := 0
			for _, own := range []string{"a", "b", "c"} {
				if !slices.Contains(values, own) {
					continue
				}
				w := Waiter[string, instant]{Terms: Terms[instant]{Quorum: quorum}, Own: own, Values: values, Split: true, Trip: ms, Seats: make([]Seat[instant], masters)}
				votes := make(map[string]int)
				for m, v := range values {
					votes[v]++
					if v == own {
						w.Seats[m].Ends = 1
					}
				}
				switch c := w.Answered(0); {
				case c.Again:
					leaders++
					require.Equal(t, stray, c)
					w.Watched(true) // takes nothing back
					r, _ := w.Request(0)
					require.False(t, r.Queued)
				case c.Nobody:
					require.Equal(t, Command[string]{Leave: true, Nobody: true}, c)
					require.True(t, votes["a"] >= quorum || votes["b"] >= quorum || votes["c"] >= quorum, "%q", values)
				default:
					require.Equal(t, Command[string]{Leave: true, Leader: c.Leader, From: 8 * ms, To: 16 * ms}, c)
					require.Less(t, votes[c.Leader], quorum, "%q", values)
					require.True(t, votes[c.Leader] > votes[own] || votes[c.Leader] == votes[own] && c.Leader < own, "%q", values)
				}
			}
			if slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
				require.Equal(t, 1, leaders, "%q", values)
			}
		})
	}
}

func TestVotesThatAreSplitAreSettledAfterASecondRequest(t *testing.T) {
	for name, c := range map[string]struct {
		answers []Answer[string]
		want    []Command[string] // after each request from the second
	}{
		"nothing is granted": {all(its), []Command[string]{{}, {}}},
		"ours are the most": {
			[]Answer[string]{has, has, inLine(1, "a"), inLine(1, "b"), inLine(1, "c")},
			[]Command[string]{stray, stray, stray, stray, {Leave: true}},
		},
		"another has more":    {[]Answer[string]{has, inLine(1, "a"), inLine(1, "a"), inLine(1, "b"), none}, []Command[string]{{Leave: true, Leader: "a", From: 8 * ms, To: 16 * ms}}},
		"another has as many": {[]Answer[string]{has, has, inLine(1, "!"), inLine(1, "!"), inLine(1, "b")}, []Command[string]{{Leave: true, Leader: "!", From: 8 * ms, To: 16 * ms}}},
		"another has it":      {[]Answer[string]{has, has, its, its, its}, []Command[string]{{Leave: true, Nobody: true}}},
	} {
		a := joined()
		commands := a.hears(c.answers...)
		require.Equal(t, slices.Contains(c.answers, has), slices.Contains(commands, stray), "%s: %v", name, commands)
		require.Zero(t, a.Answered(a.now), name)
		for _, want := range c.want {
			a.asks()
			require.NotContains(t, a.hears(c.answers...), stray)
			require.Equal(t, want, a.Answered(a.now), name)
		}
	}
}

func TestWaiterWhoMayTakeTheRestDoesNotYield(t *testing.T) {
	a := joined()
	a.hears(has, its, its, its, its)
	require.True(t, a.asks().Queued)
	require.Contains(t, a.hears(has, its, its, free, free), atOnce)
	require.Zero(t, a.Answered(a.now))
	require.False(t, a.asks().Queued)
}

func TestTokenThatAMasterLostIsGivenUp(t *testing.T) {
	lost := Answer[string]{Kind: Missing}
	for name, c := range map[string]struct {
		answers []Answer[string]
		want    Command[string]
	}{
		"while votes are split": {[]Answer[string]{lost, has, its, free, free}, Command[string]{Leave: true}},
		"beside a lock":         {[]Answer[string]{its, its, its, its, lost}, Command[string]{Leave: true, Nobody: true}},
		"by all":                {all(lost), Command[string]{Leave: true}},
	} {
		a := joined()
		a.asks()
		a.hears(c.answers...)
		require.Equal(t, c.want, a.Answered(a.now), name)
	}
	a := joined()
	a.hears(has, has, lost, has)
	a.hears(lost)
	_, ok := a.Take(a.now)
	require.False(t, ok, "its grant is gone")
}

func TestGrantsWhoseFencingTokensWereLostAreGivenUp(t *testing.T) {
	a := joined(fenced)
	a.hears(has)
	require.Equal(t, Command[string]{Leave: true}, a.Answered(a.now))
	a = joined(fenced)
	a.hears(its)
	require.Zero(t, a.Answered(a.now))
	a = joined(fenced)
	a.hears(Answer[string]{Kind: Granted, Lease: e10, Fence: 1}, has)
	require.Zero(t, a.Answered(a.now), "one is known")
}

func TestWaiterLeavesATokenThatNobodyGivesUpLessAndLessOften(t *testing.T) {
	a := joined()
	for i, c := range []struct {
		value string
		pause time.Duration // at least
	}{{"!", 8}, {"!", 16}, {"!", 32}, {"!", 64}, {"!", 128}, {"!", 256}, {"!", 300}, {"!", 300}, {"?", 8}, {"?", 16}} {
		its := inLine(1, c.value)
		answers := []Answer[string]{has, has, its, its, none}
		a.hears(answers...)
		a.asks()
		a.hears(answers...)
		require.Equal(t, Command[string]{Leave: true, Leader: c.value, From: c.pause * ms, To: 2 * c.pause * ms}, a.Answered(a.now), "%d", i)
		a.rejoin()
		require.True(t, a.Queued)
	}
	a = joined()
	its := inLine(1, "~") // does not lead
	for i := range 20 {
		a.hears(has, has, its, its)
		requests := 0
		for last := (Command[string]{}); !last.Leave; requests++ {
			a.asks()
			a.hears(has, has, its, its)
			if last = a.Answered(a.now); last.Leave && i > 0 {
				require.Equal(t, min(4*ms<<(i+1), longestStray), last.From, "%d", i)
			}
		}
		require.Equal(t, max(mostRepeats-max(i-1, 0), 0)+1, requests, "%d", i)
		a.rejoin()
	}
}

func TestWaiterJoinsAgainAtOnceUnlessItsVoteWasSplit(t *testing.T) {
	for _, c := range []struct {
		answers []Answer[string]
		nobody  bool
	}{{[]Answer[string]{has, its, its, its}, true}, {[]Answer[string]{{Kind: Missing}, its, its}, false}} {
		a := joined()
		for range 3 {
			a.hears(c.answers...)
			if c.nobody {
				a.asks()
			}
			require.Equal(t, Command[string]{Leave: true, Nobody: c.nobody}, a.Answered(a.now))
			a.rejoin()
		}
	}
}

func TestFreshTokenAsksToBeQueuedUnlessAQuorumWasFree(t *testing.T) {
	a := joined()
	a.hears(all(free)...)
	a.rejoin()
	require.False(t, a.Queued)
	require.Empty(t, slices.Compact(a.Values)[0])
	a.rejoin()
	require.True(t, a.Queued)
}

func TestWaiterTakesWhatAQuorumOfLiveGrantsGives(t *testing.T) {
	granted := func(lease time.Duration, next string) Answer[string] {
		return Answer[string]{Kind: Granted, Lease: lease, Fence: 7, Next: [2]string{next, "then"}}
	}
	a := joined()
	require.Equal(t, []Command[string]{stray}, a.hears(granted(300*ms, "one")), "others are missing")
	a.passes(300 * ms)
	require.Equal(t, []Command[string]{stray}, a.hears(none, granted(e10, "next"), granted(e10+ms, "next")), "the first has run out")
	_, ok := a.Take(a.now)
	require.False(t, ok)
	require.Equal(t, []Command[string]{{Won: true}}, a.hears(none, none, none, Answer[string]{Kind: Granted, Lease: e10 + 2*ms, Fence: 9, Version: 1}))
	require.Equal(t, []string{"m1", "m1", "m1", "m1", ""}, a.Values)
	won, ok := a.Take(a.now)
	require.True(t, ok)
	sent := instant(time.Hour)
	require.Equal(t, Won[string, instant]{Until: sent.Add(e10), Live: 0b1110, Fences: []uint64{0, 7, 7, 9, 0}, Next: [2]string{"next", "then"}}, won)
	before := slices.Clone(a.Values)
	require.Equal(t, nothing, a.hears(all(inLine(0, "x"))...), "it does not wait any more")
	require.Equal(t, before, a.Values)
}
