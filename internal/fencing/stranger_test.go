package fencing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
)

func TestMastersOfOtherSetsAreStrangers(t *testing.T) {
	trio := func(id string, generation int) fencing.Set { return family(id, generation, time.Second) }
	pair := fencing.NewSet("p", time.Second, []string{"a", "b"}).Next([]string{"a", "b"})
	replaced := trio("x", 2).Next([]string{"a", "b", "d"})
	// shows returns what the member shows in its process; of an earlier process with old.
	shows := func(member string, s fencing.Set) fencing.Shown {
		return fencing.Shown{Set: s.String(), Mark: fencing.Mark{Nonce: "n", RunID: "run-of-" + member, Member: member}.String(), RunID: "run-of-" + member}
	}
	old := func(s fencing.Shown) fencing.Shown { s.RunID = "another"; return s }
	nothing, x := fencing.Shown{RunID: "run"}, trio("x", 2)
	a, b, c := shows("a", x), shows("b", x), shows("c", x)
	unknown, unmarked, nobody := a, a, a
	unknown.Set, unmarked.Mark, nobody.Mark = "muxlock-set-3 x", "", fencing.Mark{Nonce: "n", RunID: "r"}.String()
	for what, test := range map[string]struct {
		shown   []fencing.Shown
		strange []int
		text    string
	}{
		"none shows a set":                           {shown: []fencing.Shown{nothing, nothing, nothing}},
		"all of the set":                             {shown: []fencing.Shown{a, b, c}},
		"all of the set, in another order":           {shown: []fencing.Shown{c, a, b}},
		"all were restarted and kept their data":     {shown: []fencing.Shown{old(a), old(b), old(c)}},
		"one has lost its data":                      {shown: []fencing.Shown{a, nothing, c}},
		"two have lost their data":                   {shown: []fencing.Shown{nothing, nothing, c}},
		"marks are missing, or nobody believes them": {shown: []fencing.Shown{unmarked, nobody, unmarked}},
		"it is being set up by two":                  {shown: []fencing.Shown{shows("a", trio("x", 0)), shows("b", trio("y", 0)), nothing}},
		"it is being recovered":                      {shown: []fencing.Shown{shows("a", trio("y", 0)), b, c}},
		"a recovery is nearly over":                  {[]fencing.Shown{shows("a", trio("y", 2)), shows("b", trio("y", 1)), c}, []int{2}, "is a member of another set, of [a b c]"},
		"one of the set":                             {[]fencing.Shown{a}, []int{0}, "number of Masters: here 1, at the master 3: [a b c]"},
		"two of the set":                             {[]fencing.Shown{a, c}, []int{0, 1}, "here 2, at the master 3"},
		"one of a set that is being set up":          {[]fencing.Shown{shows("a", trio("x", 0))}, []int{0}, "here 1"},
		"the set and two more":                       {[]fencing.Shown{a, b, c, nothing, nothing}, []int{0, 1, 2}, "here 5, at the master 3"},
		"one of a smaller set":                       {[]fencing.Shown{a, shows("b", pair), c}, []int{1}, "here 3, at the master 2: [a b]"},
		"one of another set":                         {[]fencing.Shown{a, b, shows("c", trio("y", 2))}, []int{2}, "is a member of another set"},
		"of two sets, as many of each":               {[]fencing.Shown{a, shows("b", trio("y", 2)), nothing}, []int{0, 1}, "is a member of another set"},
		"of three sets":                              {[]fencing.Shown{a, shows("b", trio("y", 2)), shows("c", trio("z", 2))}, []int{0, 1, 2}, "is a member of another set"},
		"the leaving member":                         {[]fencing.Shown{shows("a", replaced), shows("b", replaced), c}, []int{2}, "is member c of a set whose members are [a b d] by now"},
		"the leaving member, first":                  {[]fencing.Shown{c, shows("a", replaced), shows("b", replaced)}, []int{0}, "by now"},
		"the joining member":                         {shown: []fencing.Shown{shows("a", replaced), shows("b", replaced), shows("d", replaced)}},
		"a replacement is under way":                 {shown: []fencing.Shown{shows("a", replaced), b, nothing}},
		"a copy of another member":                   {[]fencing.Shown{a, b, old(b)}, []int{2}, "has the data of member b, like another master"},
		"a copy, first":                              {[]fencing.Shown{old(b), a, b}, []int{0}, "has the data of member b"},
		"copies, the member away":                    {[]fencing.Shown{a, old(b), old(b)}, []int{1, 2}, "has the data of member b"},
		"a set of an earlier version":                {[]fencing.Shown{{Set: "muxlock-set-1 x 2 1000 4096 a b c", Mark: "run"}, nothing}, []int{0}, "here 2, at the master 3"},
		"a description that this version lacks":      {[]fencing.Shown{unknown, b, c}, []int{0}, "is no description"},
	} {
		why := fencing.Strangers(test.shown, time.Second)
		var strange []int
		for i, err := range why {
			if err != nil {
				strange = append(strange, i)
				require.ErrorIs(t, err, fencing.ErrOther, what)
				require.ErrorContains(t, err, test.text, what)
			}
		}
		require.Equal(t, test.strange, strange, what)
	}
	for maxTTL, refused := range map[time.Duration]bool{time.Millisecond: false, time.Second: false, time.Second + 1: false, time.Second + time.Millisecond: true} {
		for _, err := range fencing.Strangers([]fencing.Shown{a, b, c}, maxTTL) {
			require.Equal(t, refused, err != nil, maxTTL)
		}
	}
}

// Votes of two clients on one name share a master, whichever masters each of them names.
func TestQuorumsOfClientsWithoutFencingShareAMember(t *testing.T) {
	x := family("x", fencing.Serving, time.Second)
	server := []string{"a", "b", "c", "elsewhere", "none"}
	shown := func(name string) fencing.Shown {
		s := fencing.Shown{RunID: name}
		switch name {
		case "a", "b", "c":
			s.Set, s.Mark = x.String(), fencing.Mark{Nonce: "n", RunID: name, Member: name}.String()
		case "elsewhere":
			s.Set, s.Mark = family("y", fencing.Serving, time.Second).String(), fencing.Mark{Nonce: "n", RunID: name, Member: "a"}.String()
		}
		return s
	}
	clients := 0
	for chosen := 1; chosen < 1<<len(server); chosen++ {
		var all []fencing.Shown
		for i, name := range server {
			if chosen&(1<<i) != 0 {
				all = append(all, shown(name))
			}
		}
		members, others := 0, 0
		for i, why := range fencing.Strangers(all, time.Second) {
			switch {
			case why != nil:
			case all[i].Set == x.String():
				members++
			case all[i].Set != "":
				others++
			}
		}
		require.True(t, members == 0 || others == 0, "%b", chosen)
		require.True(t, members == 0 || len(all) == 3, "%b: a quorum of other than three masters", chosen)
		clients++
	}
	require.Equal(t, 31, clients)
}
