package groups

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/redisfake"
)

func TestAMapIsChangedInTwoSteps(t *testing.T) {
	w := newWorld(t)
	steps := []struct {
		now, next string
		starts    bool
	}{
		{"ab", "", true},
		{"ba", "", true},
		{"abc", "", false}, // at once
		{"c", "ab", true},  // it holds all names in a and b, too
		{"ab", "abc", true},
		{"ab", "", true},
		{"abd", "", false},
		{"abc", "abd", false},
		{"abc", "ab", true},
		{"abc", "", true}, // after the barrier
		{"ab", "", false},
		{"ab", "abc", true}, // a late one
		{"ab", "", false},   // which opens no way back
		{"abc", "ab", true}, // but this does
		{"abc", "", true},
		{"ab", "abc", true},
		{"abc", "bcd", true}, // or another change instead
		{"ab", "", false},
		{"bcd", "", true},
		{"abc", "", false},
		{"d", "bcd", true},
	}
	for i, s := range steps {
		err := tried(t, w.config(s.now, s.next))
		if s.starts {
			require.NoError(t, err, "step %d: %v", i, s)
			continue
		}
		require.ErrorIs(t, err, engine.ErrConfigMismatch, "step %d: %v", i, s)
		require.ErrorContains(t, err, "change it in two steps")
	}
}

func TestTheNoteSurvivesWhatLocksSurvive(t *testing.T) {
	w := newWorld(t)
	start := func(now, next string) error { return tried(t, w.config(now, next)) }
	require.NoError(t, start("ab", ""))
	w["a0:1"].Down()
	w["b0:1"].Down()
	require.NoError(t, start("ab", "abc"))
	require.NoError(t, start("abc", ""))
	for _, m := range []string{"a0:1", "b0:1"} {
		require.Contains(t, w[m].Value("__muxlock__:groups:"), "1 ", "it missed both steps")
		w[m].Up()
	}
	w["a1:1"].Down()
	require.ErrorIs(t, start("ab", ""), engine.ErrConfigMismatch)
	w["a1:1"].Up()
	for _, m := range []string{"a0", "a1", "a2", "b0", "b1"} {
		w[m+":1"].Delete("__muxlock__:groups:")
	}
	require.ErrorIs(t, start("ab", ""), engine.ErrConfigMismatch, "one group remembers")
	require.NoError(t, start("abc", ""))
	for address, m := range w {
		require.Contains(t, m.Value("__muxlock__:groups:"), "3 ", "%s has it again", address)
	}
	for _, m := range w {
		m.Delete("__muxlock__:groups:")
	}
	require.NoError(t, start("ab", ""), "the way out after everything was stopped")
}

func TestANoteThatAllAnswersHaveIsNotWrittenAgain(t *testing.T) {
	w := newWorld(t)
	w.open(t, "ab", "")
	var writes atomic.Int32
	for _, m := range w {
		m.Answer(func(words []string) any {
			if words[0] == "SET" && words[1] == "__muxlock__:groups:" {
				writes.Add(1)
			}
			return nil
		})
	}
	w["a0:1"].Down()
	w.open(t, "ab", "")
	require.Zero(t, writes.Load(), "a slow process could put an older note back")
	cfg := w.config("ab", "abc")
	cfg.ReadOnly = true
	require.NoError(t, tried(t, cfg))
	require.Zero(t, writes.Load(), "who only looks changes no map")
	w["a0:1"].Up()
	w["b0:1"].Delete("__muxlock__:groups:")
	w.open(t, "ab", "")
	require.EqualValues(t, 3, writes.Load(), "to group b")
}

func TestNewNeedsTheNoteOfAQuorumOfEachGroup(t *testing.T) {
	w := newWorld(t)
	w.open(t, "ab", "")
	for _, m := range []string{"b0:1", "b1:1"} {
		w[m].Deny("__muxlock__:groups:", true)
	}
	err := tried(t, w.config("ab", ""))
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorIs(t, err, engine.ErrDenied)
	require.ErrorContains(t, err, `group "b"`)
	w["b0:1"].Deny("__muxlock__:groups:", false)
	w.open(t, "ab", "")
}

func TestEachPrefixHasAMapOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.open(t, "ab", "")
	cfg := w.config("abc", "")
	cfg.Prefix = "{app}:"
	e, err := New(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	seen := make(map[*group]bool)
	for i := range 100 {
		g, _ := e.r.find(cfg.Prefix + fmt.Sprint(i))
		seen[g] = true
	}
	require.Len(t, seen, 3, "the prefix decides on no group")
}

func TestFingerprintsAreOfIdsAndDatabases(t *testing.T) {
	of := func(groups map[string][]string) string {
		r := &router{}
		require.NoError(t, r.read(Config{Groups: groups}))
		require.Equal(t, none, fingerprint(r.next))
		return fingerprint(r.now)
	}
	base := map[string][]string{"a": {"a:1", "b:1"}, "b": {"c:1", "d:1"}}
	same := map[string][]string{"b": {"redis://user:password@D:1", "c:1"}, "a": {"b:1", "rediss://A:1/0"}}
	require.Equal(t, of(base), of(same))
	for _, other := range []map[string][]string{
		{"a": {"a:1", "b:1"}}, {"a": {"a:1", "b:1"}, "c": {"c:1", "d:1"}}, {"a": {"a:1", "b:1"}, "b": {"c:1", "e:1"}},
		{"a": {"c:1", "d:1"}, "b": {"a:1", "b:1"}}, {"a": {"a:1", "c:1"}, "b": {"b:1", "d:1"}},
		{"a": {"a:1", "b:1"}, "b": {"c:1", "redis://d:1/1"}},
	} {
		require.NotEqual(t, of(base), of(other))
	}
}

func TestWithFencingAMapIsOfTheSetsThatMastersBelongTo(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("abc", "")
	cfg.Fencing = true
	setUp := func(masters ...string) engine.Config {
		one := cfg.Config
		one.Masters = masters
		require.NoError(t, admin.SetUp(t.Context(), one, admin.SetUpOptions{MastersAreNew: true}))
		return one
	}
	a, b, c := cfg.Groups["a"], cfg.Groups["b"], cfg.Groups["c"]
	ofA := setUp(a...)
	setUp(b...)
	setUp(c...)
	start := func(groups map[string][]string) error {
		cfg.Groups = groups
		return tried(t, cfg)
	}
	require.NoError(t, start(map[string][]string{"a": a, "b": b}))
	require.ErrorIs(t, start(map[string][]string{"a": b, "b": a}), engine.ErrConfigMismatch)
	require.ErrorIs(t, start(map[string][]string{"a": c, "b": b}), engine.ErrConfigMismatch)
	w["x:1"] = redisfake.New()
	require.NoError(t, admin.ReplaceMaster(t.Context(), ofA, a[0], "x:1"))
	require.NoError(t, start(map[string][]string{"a": {"x:1", a[1], a[2]}, "b": b}), "a set is the same with another member")
}

// TestTheMastersKeepTheNoteWhileAProcessRuns restarts all masters of a map, one by one, without data.
func TestTheMastersKeepTheNoteWhileAProcessRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e := w.open(t, "ab", "")
		for _, m := range w {
			m.Restart()
			require.Empty(t, m.Value("__muxlock__:groups:"))
			time.Sleep(time.Minute) // until it votes
			require.NotEmpty(t, m.Value("__muxlock__:groups:"))
		}
		require.NoError(t, e.Ready(within(t)))
		require.ErrorIs(t, tried(t, w.config("abc", "")), engine.ErrConfigMismatch)
		require.NoError(t, e.Close())
	})
}

func TestTheNoteOfALaterStepReplacesAnEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		early := w.open(t, "ab", "")
		first := w["a0:1"].Value("__muxlock__:groups:")
		late := w.open(t, "ab", "abc")
		second := w["a0:1"].Value("__muxlock__:groups:")
		for address, m := range w {
			if address[0] != 'c' {
				m.Set("__muxlock__:groups:", first) // by a process that was slow to start
			}
		}
		time.Sleep(time.Minute)
		for address, m := range w {
			require.Equal(t, second, m.Value("__muxlock__:groups:"), address)
		}
		require.NoError(t, early.Close())
		require.NoError(t, late.Close())
	})
}
