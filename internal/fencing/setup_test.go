package fencing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
)

// family returns a set of a, b and c in a generation.
func family(id string, generation int, maxTTL time.Duration) fencing.Set {
	s := fencing.NewSet(id, maxTTL, []string{"a", "b", "c"})
	s.Generation = generation
	return s
}

// at returns what is found at an admitted member. Each function below changes that.
func at(member string, s fencing.Set) fencing.Found {
	return fencing.Found{Member: member, Set: s, Admitted: true}
}

func restarted(f fencing.Found) fencing.Found { f.Admitted = false; return f }

func older(s fencing.Set) fencing.Set { s.Older = true; return s }

func TestSetUpGoesOnWithWhatWasBegunAndRefusesTheRest(t *testing.T) {
	want := family("m", fencing.Preparing, time.Second)
	of := func(id string, generation int) fencing.Set { return family(id, generation, time.Second) }
	serving := of("x", fencing.Serving)
	for what, c := range map[string]struct {
		a, b, c fencing.Set
		chosen  fencing.Set
		err     error
		lost    []string
	}{
		"nothing is there":                   {chosen: want},
		"another began":                      {a: of("x", 0), chosen: of("x", 0)},
		"two others began":                   {a: of("y", 0), b: of("x", 0), chosen: of("x", 0)},
		"two others began, the other way":    {a: of("x", 0), b: of("y", 0), chosen: of("x", 0)},
		"one was begun with another MaxTTL":  {a: family("x", 0, time.Hour), chosen: want},
		"all are prepared":                   {of("x", 1), of("x", 1), of("x", 1), of("x", 1), nil, nil},
		"some are prepared":                  {of("x", 1), of("x", 0), of("x", 0), of("x", 1), nil, nil},
		"some serve":                         {of("x", 1), serving, of("x", 1), serving, nil, nil},
		"all serve":                          {serving, serving, serving, serving, nil, nil},
		"one has lost its data":              {a: serving, b: serving, lost: []string{"c"}},
		"the first one has lost its data":    {b: serving, c: serving, lost: []string{"a"}},
		"one is two generations behind":      {a: serving, b: serving, c: of("x", 0), lost: []string{"c"}},
		"one is prepared, two have nothing":  {a: of("x", 1), lost: []string{"b", "c"}},
		"one serves, another began":          {a: of("w", 0), b: serving, c: serving, lost: []string{"a"}},
		"one was begun after one serves":     {a: serving, b: serving, c: of("w", 0), lost: []string{"c"}},
		"generations after a replacement":    {a: of("x", 3), b: of("x", 3), c: serving, lost: []string{"c"}},
		"all are there after a replacement":  {of("x", 3), of("x", 3), of("x", 3), of("x", 3), nil, nil},
		"another MaxTTL serves":              {a: family("x", 2, time.Hour), err: fencing.ErrOther},
		"different sets serve":               {a: serving, b: of("y", 2), err: fencing.ErrOther},
		"a different set is prepared":        {a: of("y", 1), b: serving, err: fencing.ErrOther},
		"a set of an earlier version":        {a: older(serving), err: fencing.ErrOther},
		"an earlier version's, that was cut": {a: older(of("x", 0)), err: fencing.ErrOther},
	} {
		got, err := fencing.SetUp([]fencing.Found{at("a", c.a), at("b", c.b), at("c", c.c)}, want)
		lost := (*fencing.LostError)(nil)
		switch {
		case c.err != nil:
			require.ErrorIs(t, err, c.err, what)
		case c.lost != nil:
			require.ErrorAs(t, err, &lost, what)
			require.Equal(t, c.lost, lost.Members, what)
		default:
			require.NoError(t, err, what)
			require.Equal(t, c.chosen, got, what)
		}
	}
}

func TestSetUpLeavesRestartedMembersToTheEngines(t *testing.T) {
	want := family("m", fencing.Preparing, time.Second)
	for generation := fencing.Prepared; generation <= fencing.Serving+1; generation++ {
		s := family("x", generation, time.Second)
		_, err := fencing.SetUp([]fencing.Found{at("a", s), restarted(at("b", s)), at("c", s)}, want)
		lost := (*fencing.LostError)(nil)
		require.ErrorAs(t, err, &lost)
		require.Equal(t, []string{"b"}, lost.Members)
	}
	begun := family("x", fencing.Preparing, time.Second)
	got, err := fencing.SetUp([]fencing.Found{restarted(at("a", begun)), {Member: "b"}, {Member: "c"}}, want)
	require.NoError(t, err, "nobody has served yet: it is opened and seeded again")
	require.Equal(t, begun, got)
	require.False(t, restarted(at("a", begun)).In(begun))
	require.True(t, at("a", begun).In(begun))
}

func TestRecoveryNeedsAQuorumOfEachSetOfBefore(t *testing.T) {
	set := func(members ...string) fencing.Set {
		return fencing.Set{ID: "x", Generation: fencing.Serving, MaxTTL: time.Second, Registers: fencing.Registers, Members: members}
	}
	want := fencing.NewSet("m", time.Second, []string{"a", "b", "c"})
	longer, shorter, begun := set("a", "b", "c"), set("a", "b", "c"), set("a", "x", "y")
	longer.MaxTTL, shorter.MaxTTL = time.Second+time.Millisecond, time.Millisecond
	begun.Generation, begun.MaxTTL = fencing.Preparing, time.Hour
	prepared := set("a", "x", "y")
	prepared.Generation = fencing.Prepared
	for what, c := range map[string]struct {
		was fencing.Set
		ok  bool
	}{
		"none":                          {fencing.Set{}, true},
		"the same masters":              {set("a", "b", "c"), true},
		"one of three is not among":     {set("a", "b", "x"), true},
		"two of three are not":          {set("a", "x", "y"), false},
		"the same of one that prepared": {prepared, false},
		"two of four are not":           {set("a", "b", "x", "y"), true},
		"three of four are not":         {set("a", "x", "y", "z"), false},
		"two of five are not":           {set("a", "b", "c", "x", "y"), true},
		"three of five are not":         {set("a", "b", "x", "y", "z"), false},
		"a longer MaxTTL":               {longer, false},
		"a shorter MaxTTL":              {shorter, true},
		"one that never served":         {begun, true},
	} {
		for _, found := range [][]fencing.Found{{at("a", c.was)}, {{Member: "b"}, restarted(at("a", c.was))}} {
			err := fencing.Recover(found, want)
			if c.ok {
				require.NoError(t, err, what)
			} else {
				require.ErrorIs(t, err, fencing.ErrOther, what)
			}
		}
	}
}

func TestReplacementGoesOnWithWhatWasBegunAndRefusesTheRest(t *testing.T) {
	change, want := fencing.Replacement{From: "c", To: "d"}, family("", fencing.Preparing, time.Second)
	before := family("x", fencing.Serving, time.Second)
	after := before.Next([]string{"a", "b", "d"})
	none := fencing.Found{Member: "d"}
	for what, c := range map[string]struct {
		a, b, joins fencing.Found
		ok          bool
		lost        string
	}{
		"nothing is switched":              {a: at("a", before), b: at("b", before), joins: none, ok: true},
		"one is switched":                  {a: at("a", after), b: at("b", before), joins: none, ok: true},
		"the other is":                     {a: at("a", before), b: at("b", after), joins: none, ok: true},
		"all are":                          {a: at("a", after), b: at("b", after), joins: none, ok: true},
		"it has joined":                    {a: at("a", after), b: at("b", after), joins: at("d", after), ok: true},
		"it has joined and was restarted":  {a: at("a", after), b: at("b", after), joins: restarted(at("d", after)), ok: true},
		"one that stays was restarted":     {a: at("a", before), b: restarted(at("b", before)), joins: none, lost: "b"},
		"a switched one was restarted":     {a: restarted(at("a", after)), b: at("b", before), joins: none, lost: "a"},
		"one has lost its data":            {a: at("a", before), b: fencing.Found{Member: "b"}, joins: none},
		"one is prepared":                  {a: at("a", before), b: at("b", family("x", fencing.Prepared, time.Second)), joins: none},
		"none serves yet":                  {a: at("a", family("x", 1, time.Second)), b: at("b", family("x", 1, time.Second)), joins: none},
		"all have another MaxTTL":          {a: at("a", family("x", 2, time.Hour)), b: at("b", family("x", 2, time.Hour)), joins: none},
		"another MaxTTL":                   {a: at("a", family("x", 2, time.Hour)), b: at("b", before), joins: none},
		"of different sets":                {a: at("a", family("y", 2, time.Second)), b: at("b", before), joins: none},
		"of different generations":         {a: at("a", family("x", 3, time.Second)), b: at("b", before), joins: none},
		"switched from another generation": {a: at("a", after.Next(after.Members)), b: at("b", before), joins: none},
		"of an earlier version":            {a: at("a", before), b: at("b", older(before)), joins: none},
		"it is a member of the set before": {a: at("a", before), b: at("b", before), joins: at("d", before)},
		"it is a member of another set":    {a: at("a", before), b: at("b", before), joins: at("d", family("y", 2, time.Second))},
		"it was, and was restarted":        {a: at("a", before), b: at("b", before), joins: restarted(at("d", family("y", 0, time.Second)))},
	} {
		gotBefore, gotAfter, err := change.Replace([]fencing.Found{c.a, c.b}, c.joins, fencing.Found{}, want)
		lost := (*fencing.LostError)(nil)
		switch {
		case c.lost != "":
			require.ErrorAs(t, err, &lost, what)
			require.Equal(t, []string{c.lost}, lost.Members, what)
		case !c.ok:
			require.ErrorIs(t, err, fencing.ErrOther, what)
		default:
			require.NoError(t, err, what)
			require.Equal(t, before, gotBefore, what)
			require.Equal(t, after, gotAfter, what)
		}
	}
	require.Equal(t, fencing.Serving+1, after.Generation)
	require.Equal(t, []string{"a", "b", "d"}, after.Members)
}

// Of five members, c goes and d joins. A letter is a member of the set before, a capital letter a switched member, and
// "?" follows a restarted one.
func TestRestartedMembersAreForTheSetThatCanAdmitThem(t *testing.T) {
	const ends, lost, back = "goes on", "waits for engines or a recovery", "puts what was switched back first"
	change, want := fencing.Replacement{From: "c", To: "d"}, fencing.NewSet("", time.Second, []string{"a", "b", "c", "x", "y"})
	before := fencing.NewSet("x", time.Second, want.Members).Next(want.Members).Next(want.Members)
	after := before.Next([]string{"a", "b", "d", "x", "y"})
	for members, does := range map[string]string{
		"a b x y c": ends, "A b x y c": ends, "A B X Y c": ends, "A B X Y": ends,
		"a? b x y c": lost, "a? b? x y c": lost, "A b? x y c": lost,
		"A? b x y c": back, "A? b x y": back, "A? B x y c": back, "A? b? x y c": back, "A? B? x y c": back,
		"A b? x y": ends, "A? B x y": ends, "A? B X y c": ends, "A B x? y c": ends, "A? B X Y": ends,
		"A? B? x y": lost, "A? B? X y c": lost, "A? B? X Y": lost, "A? B? X? y c": lost,
	} {
		var found []fencing.Found
		goes := fencing.Found{}
		for _, m := range strings.Fields(members) {
			name, restarted := strings.CutSuffix(m, "?")
			f := fencing.Found{Member: strings.ToLower(name), Set: before, Admitted: !restarted}
			if f.Member != name {
				f.Set = after
			}
			if name == "c" {
				goes = f
			} else {
				found = append(found, f)
			}
		}
		_, _, err := change.Replace(found, fencing.Found{Member: "d"}, goes, want)
		is := (*fencing.LostError)(nil)
		require.Equal(t, does != ends, errors.As(err, &is), members)
		require.Equal(t, does == back, is != nil && is.Back, members)
	}
}

func TestClientReplacesOnlyAnEarlierDescriptionOfItsSet(t *testing.T) {
	ours := family("x", 3, time.Second)
	for _, theirs := range []fencing.Set{family("x", 0, time.Second), family("x", 2, time.Second), ours} {
		require.NoError(t, ours.Over(theirs))
	}
	for _, theirs := range []fencing.Set{family("y", 2, time.Second), family("x", 4, time.Second), older(ours), older(family("x", 0, time.Second))} {
		require.Error(t, ours.Over(theirs))
	}
	require.True(t, ours.Is(ours))
	require.False(t, fencing.Set{}.Is(fencing.Set{}), "no description is one")
	require.False(t, ours.Is(older(ours)))
	require.False(t, ours.Is(family("x", 2, time.Second)))
}

func TestMarkIsReadAsItWasWritten(t *testing.T) {
	for _, m := range []fencing.Mark{{Nonce: "n", RunID: "run", Member: "host:1"}, {Nonce: "n", RunID: "run", Member: "a socket's path"}} {
		require.Equal(t, m, fencing.ParseMark(m.String()))
		require.True(t, m.Admits("run", m.Member))
		require.False(t, m.Admits("another", m.Member))
		require.False(t, m.Admits("run", "another"))
	}
	for _, text := range []string{"", "run", "n run"} {
		require.Zero(t, fencing.ParseMark(text), "%q", text)
	}
	require.False(t, fencing.ParseMark(" run m").Admits("run", "m"), "without a nonce")
}
