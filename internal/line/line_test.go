package line

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An instant counts from none.
type instant time.Duration

func (i instant) Before(o instant) bool          { return i < o }
func (i instant) Reached(now instant) bool       { return now >= i }
func (i instant) Left(now instant) time.Duration { return time.Duration(i - now) }
func (i instant) Add(d time.Duration) instant    { return i + instant(d) }

func TestLeaseCountsFromTheRequestThatTheGrantAnswers(t *testing.T) {
	p := requested(100, 200)
	first, second := uint32(1), uint32(2)
	var s Seat[instant]
	require.True(t, p.Grant(&s, first, 10, 7))
	require.Equal(t, Seat[instant]{Ends: 110, Fence: 7}, s)
	require.True(t, p.Grant(&s, second, 10, 0))
	require.Equal(t, Seat[instant]{Ends: 210, Fence: 7}, s)
	require.True(t, p.Grant(&s, first, 10, 7), "a push that comes twice")
	require.Equal(t, instant(210), s.Ends)
}

func TestGrantOfARequestThatWasNotSentOrForgottenDoesNotCount(t *testing.T) {
	var s Seat[instant]
	p := requested()
	require.False(t, p.Grant(&s, 0, 1, 1))
	require.False(t, p.Grant(&s, 1, 1, 1), "nothing was sent")
	p = requested(0, 1, 2, 3, 4, 5, 6, 7, 8)
	require.False(t, p.Grant(&s, 1, 1, 1))
	require.False(t, p.Grant(&s, recent+2, 1, 1))
	require.Zero(t, s)
	require.True(t, p.Grant(&s, 2, 1, 1))
	require.Equal(t, instant(2), s.Ends)
}

// requested returns a place with requests that were sent then.
func requested(at ...instant) Place[instant] {
	var w Waiter[string, instant]
	for _, now := range at {
		w.Request(now)
	}
	return w.Place
}

func TestGrantsCountUntilThePlaceEnds(t *testing.T) {
	var s Seat[instant]
	p := requested(1)
	p.Ended = true
	require.False(t, p.Grant(&s, 1, 1, 1))
	require.Zero(t, s)
}

func TestValidityIsWhatAQuorumOfLiveGrantsHas(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		seats := make([]Seat[instant], 1+rng.IntN(7))
		var ends []instant
		fenced := rng.IntN(2) == 0
		for i := range seats {
			seats[i] = Seat[instant]{Ends: instant(rng.IntN(10)), Fence: uint64(rng.IntN(2))}
			if s := seats[i]; s.Ends > 3 && (!fenced || s.Fence > 0) {
				ends = append(ends, s.Ends)
			}
		}
		quorum := len(seats)/2 + 1
		w := Waiter[string, instant]{Seats: seats, Terms: Terms[instant]{Fenced: fenced}}
		until, ok := valid(seats, w.live(3), quorum)
		require.Equal(t, len(ends) >= quorum, ok)
		if ok {
			slices.Sort(ends)
			require.Equal(t, ends[len(ends)-quorum], until)
		}
	}
}

func TestLeaseThatIsPassedOnNeverOutlivesTheTTL(t *testing.T) {
	for ttl := LeastTTL; ttl < 2*time.Minute; ttl += 13 * time.Millisecond {
		for _, waited := range []time.Duration{0, time.Second, 10 * time.Second, time.Hour} {
			stay := stayAfter(waited, ttl)
			require.GreaterOrEqual(t, stay, leastStay)
			require.LessOrEqual(t, stay, longestStay)
			require.LessOrEqual(t, Passed(ttl)+stale(ttl), ttl, "as masters of an earlier version pass it on")
			require.GreaterOrEqual(t, Passed(ttl), LeastTTL/2)
			require.Greater(t, Passed(ttl)-stale(ttl), 3*time.Millisecond, "more than the allowance for drift is left, however old the entry")
			if ttl >= 6*leastStay {
				require.GreaterOrEqual(t, stale(ttl), stay*6/5, "an entry is fresh until its owner asks again")
			}
		}
	}
	require.Equal(t, shortestStay, stayAfter(0, time.Minute))
	require.Equal(t, longestStay, stayAfter(time.Hour, time.Minute))
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
		require.Equal(t, c.want, stayAfter(c.waited, c.ttl))
	}
	for ttl, want := range map[time.Duration][2]time.Duration{
		30 * time.Second: {2400 * time.Millisecond, 1200 * time.Millisecond},
		3 * time.Second:  {2 * time.Second, time.Second},
		LeastTTL:         {6666666, 3333333},
	} {
		require.Equal(t, want, [2]time.Duration{Passed(ttl), stale(ttl)})
	}
}
