package line

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// second is an instant in seconds.
type second int

func (s second) Before(o second) bool       { return s < o }
func (s second) Reached(now second) bool    { return now >= s }
func (s second) Add(d time.Duration) second { return s + second(d/time.Second) }

func TestLeaseCountsFromTheRequestThatTheGrantAnswers(t *testing.T) {
	var p Place[second]
	first, second1 := p.Ask(100), p.Ask(200)
	var s Seat[second]
	require.True(t, p.Grant(&s, first, 10*time.Second, 7))
	require.Equal(t, Seat[second]{Granted: true, Ends: 110, Fence: 7}, s)
	require.True(t, p.Grant(&s, second1, 10*time.Second, 0))
	require.Equal(t, Seat[second]{Granted: true, Ends: 210, Fence: 7}, s)
	require.True(t, p.Grant(&s, first, 10*time.Second, 7), "a push that comes twice")
	require.Equal(t, second(210), s.Ends)
}

func TestGrantOfARequestThatWasNotSentOrForgottenDoesNotCount(t *testing.T) {
	var p Place[second]
	var s Seat[second]
	require.False(t, p.Grant(&s, 0, time.Second, 1))
	require.False(t, p.Grant(&s, 1, time.Second, 1), "nothing was sent")
	for i := range recent + 1 {
		p.Ask(second(i))
	}
	require.False(t, p.Grant(&s, 1, time.Second, 1))
	require.False(t, p.Grant(&s, recent+2, time.Second, 1))
	require.Zero(t, s)
	require.True(t, p.Grant(&s, 2, time.Second, 1))
	require.Equal(t, second(2), s.Ends)
}

func TestGrantsCountOnlyWhileThePlaceWaits(t *testing.T) {
	for name, end := range map[string]func(*Place[second]){"taken": (*Place[second]).Take, "given up": (*Place[second]).GiveUp} {
		var p Place[second]
		var s Seat[second]
		version := p.Ask(1)
		require.True(t, p.Waits())
		end(&p)
		require.False(t, p.Waits(), name)
		require.False(t, p.Grant(&s, version, time.Second, 1), name)
		require.Zero(t, s)
	}
}

func TestValidityIsWhatAQuorumOfLiveGrantsHas(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		seats := make([]Seat[second], 1+rng.IntN(7))
		var ends []second
		fenced := rng.IntN(2) == 0
		for i := range seats {
			seats[i] = Seat[second]{Granted: rng.IntN(4) > 0, Ends: second(rng.IntN(10)), Fence: uint64(rng.IntN(2))}
			if s := seats[i]; s.Granted && s.Ends > 3 && (!fenced || s.Fence > 0) {
				ends = append(ends, s.Ends)
			}
		}
		quorum := len(seats)/2 + 1
		until, ok := Valid(seats, Live(seats, 3, fenced), quorum)
		require.Equal(t, len(ends) >= quorum, ok)
		if ok {
			slices.Sort(ends)
			require.Equal(t, ends[len(ends)-quorum], until)
		}
	}
}

func TestWaiterMayTakeWhatItCouldHold(t *testing.T) {
	for masters := 1; masters <= 5; masters++ {
		quorum := masters/2 + 1
		each(masters, ".abx", func(values []string) { // x: it did not answer
			var free, own uint64
			possible := 0
			for m, v := range values {
				switch v {
				case "":
					free |= 1 << m
					possible++
				case "a":
					own |= 1 << m
					possible++
				}
			}
			may := MayTake(free, own, quorum)
			require.Equal(t, possible >= quorum, may, "%q", values)
			require.Equal(t, may, MayTake(free|own, own, quorum), "a grant of ours that has run out may be heard of as free")
			if next, leader := Settle("a", values, quorum); next == GiveBack && leader != "x" {
				require.False(t, may, "%q: a stray is given back and taken again", values)
			}
		})
	}
}

func TestLeaseThatIsPassedOnNeverOutlivesTheTTL(t *testing.T) {
	for ttl := LeastTTL; ttl < 2*time.Minute; ttl += 13 * time.Millisecond {
		for _, waited := range []time.Duration{0, time.Second, 10 * time.Second, time.Hour} {
			stay := StayAfter(waited, ttl)
			require.GreaterOrEqual(t, stay, leastStay)
			require.LessOrEqual(t, stay, longestStay)
			require.LessOrEqual(t, Passed(ttl)+Stale(ttl), ttl, "as masters of an earlier version pass it on")
			require.GreaterOrEqual(t, Passed(ttl), LeastTTL/2)
			require.Greater(t, Passed(ttl)-Stale(ttl), 3*time.Millisecond, "more than the allowance for drift is left, however old the entry")
			if ttl >= 6*leastStay {
				require.GreaterOrEqual(t, Stale(ttl), stay*6/5, "an entry is fresh until its owner asks again")
			}
		}
	}
	require.Equal(t, shortestStay, StayAfter(0, time.Minute))
	require.Equal(t, longestStay, StayAfter(time.Hour, time.Minute))
}

// each calls do with all combinations of so many values.
func each(n int, of string, do func(values []string)) {
	values := make([]string, n)
	var fill func(i int)
	fill = func(i int) {
		if i == n {
			do(values)
			return
		}
		for _, r := range of {
			values[i] = ""
			if r != '.' {
				values[i] = string(r)
			}
			fill(i + 1)
		}
	}
	fill(0)
}

func TestOneOfThoseWhoSplitTheVotesAsksAgainAndTheOthersYieldToIt(t *testing.T) {
	for masters := 1; masters <= 5; masters++ {
		quorum := masters/2 + 1
		each(masters, ".abc", func(values []string) {
			again := 0
			for _, own := range []string{"a", "b", "c"} {
				if !slices.Contains(values, own) {
					continue
				}
				next, leader := Settle(own, values, quorum)
				votes := 0
				for _, v := range values {
					if v == leader {
						votes++
					}
				}
				switch next {
				case Again:
					again++
					require.Equal(t, own, leader)
				case GiveBack:
					require.GreaterOrEqual(t, votes, quorum, "%q", values)
				case Yield:
					require.Less(t, votes, quorum, "%q", values)
				}
				require.NotEmpty(t, leader)
			}
			if slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
				require.Equal(t, 1, again, "%q", values)
			}
		})
	}
}

func TestHolderNamesTheOneWhomMostMastersHaveFirst(t *testing.T) {
	for _, c := range []struct{ firsts, seconds, want []string }{
		{[]string{"", "", ""}, []string{"", "", ""}, []string{"", ""}},
		{[]string{"a", "a", "b"}, []string{"b", "b", "a"}, []string{"a", "b"}},
		{[]string{"a", "b", "b"}, []string{"b", "c", "c"}, []string{"b", "c"}},
		{[]string{"b", "", "a"}, []string{"", "", "b"}, []string{"a", "b"}},
		{[]string{"a", "", "b"}, []string{"", "", "c"}, []string{"a", "b"}},
		{[]string{"a", "a", "a"}, []string{"", "", ""}, []string{"a", ""}},
	} {
		first, second := Next(c.firsts, c.seconds)
		require.Equal(t, c.want, []string{first, second})
	}
	each(3, ".ab", func(firsts []string) {
		first, second := Next(firsts, firsts)
		if first == "" {
			require.Empty(t, second)
			return
		}
		require.NotEqual(t, first, second)
	})
}

func TestWaitersAskAgainAfterAPartOfTheirWait(t *testing.T) {
	for _, c := range []struct{ waited, ttl, want time.Duration }{
		{0, time.Minute, shortestStay},
		{3 * time.Second, time.Minute, 750 * time.Millisecond},
		{time.Hour, time.Minute, longestStay},
		{time.Hour, 4200 * time.Millisecond, 700 * time.Millisecond},
		{0, 600 * time.Millisecond, 100 * time.Millisecond},
		{0, LeastTTL, leastStay},
	} {
		require.Equal(t, c.want, StayAfter(c.waited, c.ttl))
	}
	for ttl, want := range map[time.Duration][2]time.Duration{
		30 * time.Second: {2400 * time.Millisecond, 1200 * time.Millisecond},
		3 * time.Second:  {2 * time.Second, time.Second},
		LeastTTL:         {6666666, 3333333},
	} {
		require.Equal(t, want, [2]time.Duration{Passed(ttl), Stale(ttl)})
	}
}
