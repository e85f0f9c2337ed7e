package fencing_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
)

var (
	three     = []string{"a", "b", "c"}
	begun     = fencing.NewSet("id", time.Minute, three)
	prepared  = begun.Next(three)
	serving   = prepared.Next(three)
	another   = fencing.NewSet("later id", time.Minute, three)
	otherSet  = another.Next(three).Next(three)
	replaced  = serving.Next([]string{"a", "b", "d"})
	noSet     = fencing.Set{}
	otherTime = fencing.NewSet("id", time.Hour, three).Next(three).Next(three)
)

func older(s fencing.Set) fencing.Set {
	s.Older = true
	return s
}

// at is what is found at the masters a, b, c; one that is not admitted has a "!" set.
func at(sets ...fencing.Set) (found []fencing.Found) {
	for i, s := range sets {
		found = append(found, fencing.Found{Member: three[i], Set: s, Admitted: s.ID != ""})
	}
	return found
}

// without has a master not admitted.
func without(found []fencing.Found, i int) []fencing.Found {
	found[i].Admitted = false
	return found
}

func TestSetUpGoesOnFromWhatIsFound(t *testing.T) {
	want := fencing.NewSet("new id", time.Minute, three)
	for what, c := range map[string]struct {
		found []fencing.Found
		set   fencing.Set
	}{
		"nothing":                         {at(noSet, noSet, noSet), want},
		"one was begun":                   {at(begun, noSet, noSet), begun},
		"one was begun, and restarted":    {without(at(begun, noSet, noSet), 0), begun},
		"two were begun":                  {at(another, begun, noSet), begun},
		"all are preparing":               {at(begun, begun, begun), begun},
		"one is prepared":                 {at(prepared, begun, begun), prepared},
		"all are prepared":                {at(prepared, prepared, prepared), prepared},
		"one serves":                      {at(prepared, serving, prepared), serving},
		"all serve":                       {at(serving, serving, serving), serving},
		"one for other masters was begun": {at(fencing.NewSet("a", time.Minute, []string{"x"}), noSet, noSet), want},
	} {
		set, err := fencing.SetUp(c.found, want)
		require.NoError(t, err, what)
		require.True(t, set.Is(c.set), "%s: %v", what, set)
	}
	for what, c := range map[string]struct {
		found []fencing.Found
		lost  []string
	}{
		"a majority was flushed before the last step":  {at(noSet, noSet, prepared), []string{"a", "b"}},
		"one was restarted before the last step":       {without(at(prepared, prepared, prepared), 1), []string{"b"}},
		"one was flushed":                              {at(serving, noSet, serving), []string{"b"}},
		"all were restarted":                           {without(without(without(at(serving, serving, serving), 0), 1), 2), three},
		"one has the data of two steps before":         {at(serving, begun, serving), []string{"b"}},
		"set up again beside one that was set up":      {at(serving, serving, another), []string{"c"}},
		"one is preparing that was restarted":          {without(at(prepared, begun, prepared), 1), []string{"b"}},
		"one that was replaced has come back, as lost": {at(serving, serving, noSet), []string{"c"}},
	} {
		_, err := fencing.SetUp(c.found, want)
		lost := (*fencing.LostError)(nil)
		require.True(t, errors.As(err, &lost), "%s: %v", what, err)
		require.Equal(t, c.lost, lost.Members, what)
	}
	for what, found := range map[string][]fencing.Found{
		"two sets serve":          at(serving, otherSet, serving),
		"another MaxTTL":          at(otherTime, otherTime, otherTime),
		"a member was replaced":   at(replaced, replaced, serving),
		"of an earlier version":   at(older(serving), older(serving), older(serving)),
		"begun by that version":   at(older(begun), noSet, noSet),
		"other masters are of it": at(fencing.NewSet("x", time.Minute, []string{"x"}).Next([]string{"x"}), noSet, noSet),
	} {
		_, err := fencing.SetUp(found, want)
		require.ErrorIs(t, err, fencing.ErrOther, what)
	}
}

func TestRecoveryLeavesNoSetOfBeforeAQuorum(t *testing.T) {
	five := []string{"a", "b", "c", "d", "e"}
	ofFive := fencing.NewSet("five", time.Minute, five).Next(five).Next(five)
	for what, c := range map[string]struct {
		found   []fencing.Found
		members []string
		refused string
	}{
		"nothing is left":                       {at(noSet, noSet, noSet), three, ""},
		"what was lost":                         {without(at(serving, noSet, noSet), 0), three, ""},
		"different sets":                        {at(serving, otherSet, replaced), append(three, "d"), ""},
		"an earlier version":                    {at(older(serving), older(serving), older(serving)), three, ""},
		"two more masters":                      {at(serving, serving, serving), five, ""},
		"three of five":                         {at(ofFive, ofFive, ofFive), three, ""},
		"two of three":                          {at(serving, serving), three[:2], ""},
		"two of five":                           {at(ofFive, ofFive), three[:2], "b is of a set whose masters [c d e] are a quorum"},
		"one of three":                          {at(serving), three[:1], "[b c] are a quorum"},
		"a longer MaxTTL of before":             {at(otherTime), three, "MaxTTL was 1h0m0s, here it is 1m0s"},
		"one of another set, whose are outside": {at(serving, serving, fencing.NewSet("x", 0, []string{"x", "y", "c"}).Next([]string{"x", "y", "c"})), three, "[x y]"},
		"one that was only begun":               {at(serving, serving, fencing.NewSet("x", time.Hour, []string{"x", "y", "c"})), three, ""},
	} {
		err := fencing.Recover(c.found, fencing.NewSet("new", time.Minute, c.members))
		if c.refused == "" {
			require.NoError(t, err, what)
			continue
		}
		require.ErrorIs(t, err, fencing.ErrOther, what)
		if what != "two of five" { // either of the two is named
			require.ErrorContains(t, err, c.refused, what)
		}
	}
}

func TestReplacementAsksForAdmittedMembersOfOneSet(t *testing.T) {
	change := fencing.Replacement{From: "c", To: "d"}
	want := fencing.NewSet("", time.Minute, three)
	joins := fencing.Found{Member: "d"}
	stay := func(a, b fencing.Set) []fencing.Found { return at(a, b) }
	for what, found := range map[string][]fencing.Found{
		"before": stay(serving, serving), "cut": stay(replaced, serving), "again": stay(replaced, replaced),
	} {
		before, after, err := change.Replace(found, joins, want)
		require.NoError(t, err, what)
		require.True(t, before.Is(serving) && after.Is(replaced), what)
	}
	_, _, err := change.Replace(stay(replaced, replaced), fencing.Found{Member: "d", Set: replaced}, want)
	require.NoError(t, err, "it has been admitted since")
	lost := (*fencing.LostError)(nil)
	_, _, err = change.Replace(without(stay(serving, serving), 1), joins, want)
	require.True(t, errors.As(err, &lost), "beside a restarted member: %v", err)
	require.Equal(t, []string{"b"}, lost.Members)
	for what, c := range map[string]struct {
		found []fencing.Found
		joins fencing.Set
	}{
		"not set up":                   {stay(noSet, serving), noSet},
		"not yet serving":              {stay(prepared, prepared), noSet},
		"another set":                  {stay(serving, otherSet), noSet},
		"another MaxTTL":               {stay(otherTime, otherTime), noSet},
		"another replacement":          {stay(serving, serving.Next([]string{"a", "b", "x"})), noSet},
		"the one that comes has a set": {stay(serving, serving), otherSet},
	} {
		_, _, err := change.Replace(c.found, fencing.Found{Member: "d", Set: c.joins}, want)
		require.ErrorIs(t, err, fencing.ErrOther, what)
	}
}

// An operator in the middle of a replacement: it found all that stay as they were, and switches
// them one after the other.
type operator struct {
	fencing.Replacement
	stay []string // in the order of their addresses
	done int
	cut  bool
}

// Two replacements of a set of n members take their steps in every order, each may be cut at any
// step. Afterwards one of the two can be ended, or neither has begun.
func TestOfTwoReplacementsAtOnceOneEnds(t *testing.T) {
	ended, schedules := 0, 0
	for n := 3; n <= 5; n++ {
		members := []string{"a", "b", "c", "d", "e"}[:n]
		begin := fencing.NewSet("id", time.Minute, members).Next(members).Next(members)
		for first := range n {
			for second := range n {
				ops := [2]operator{{Replacement: fencing.Replacement{From: members[first], To: "x"}}, {Replacement: fencing.Replacement{From: members[second], To: "y"}}}
				for i := range ops {
					ops[i].stay = slices.DeleteFunc(slices.Clone(members), func(m string) bool { return m == ops[i].From })
				}
				masters := make(map[string]fencing.Set)
				for _, m := range members {
					masters[m] = begin
				}
				var walk func(ops [2]operator, masters map[string]fencing.Set)
				walk = func(ops [2]operator, masters map[string]fencing.Set) {
					moved := false
					for i := range ops {
						o := ops[i]
						if o.cut || o.done == len(o.stay) {
							continue
						}
						moved = true
						at := o.stay[o.done]
						next := begin.Next(append(slices.Clone(o.stay), o.To))
						then := ops
						if masters[at].Is(begin) {
							then[i].done++
							after := make(map[string]fencing.Set)
							for m, s := range masters {
								after[m] = s
							}
							after[at] = next
							walk(then, after)
						} else {
							then[i].cut = true // refused
							walk(then, masters)
						}
						then = ops
						then[i].cut = true // or killed
						walk(then, masters)
					}
					if moved {
						return
					}
					schedules++
					canEnd := 0
					for _, o := range ops {
						var found []fencing.Found
						for _, m := range o.stay {
							found = append(found, fencing.Found{Member: m, Set: masters[m], Admitted: true})
						}
						_, _, err := o.Replace(found, fencing.Found{Member: o.To}, fencing.NewSet("", time.Minute, members))
						if err == nil {
							canEnd++
						}
					}
					require.NotZero(t, canEnd, fmt.Sprint(ops, masters))
					ended++
				}
				walk(ops, masters)
			}
		}
	}
	t.Log(schedules, "schedules")
	require.Greater(t, ended, 1000)
}
