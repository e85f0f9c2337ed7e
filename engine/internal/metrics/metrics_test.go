package metrics

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

// values returns all that Each puts, by name and label.
func values(t *testing.T, s engine.Stats) map[[2]string]float64 {
	t.Helper()
	all := make(map[[2]string]float64)
	Each(Source{Stats: s}, func(i Instrument, value float64, labels ...string) {
		require.Len(t, labels, len(i.Labels), i.Name)
		at := [2]string{i.Name, strings.Join(labels, ",")}
		require.NotContains(t, all, at, "exported once")
		all[at] = value
	})
	return all
}

func TestEveryFieldOfStatsIsExported(t *testing.T) {
	stats := func() engine.Stats {
		return engine.Stats{Masters: []engine.MasterStats{{Address: "a:1", Up: true}}}
	}
	nothing := values(t, stats())
	check := func(field reflect.StructField, value reflect.Value, of *engine.Stats) {
		switch v := value.Addr().Interface().(type) {
		case *time.Time:
			*v = time.Unix(1, 0)
		case *error:
			*v = errors.New("away")
		case *bool:
			*v = !*v
		case *string:
			*v += "0"
		case *map[string]map[string]uint64:
			*v = map[string]map[string]uint64{"shared": {"expired": 1}}
		default:
			value.Set(reflect.ValueOf(1).Convert(value.Type()))
		}
		require.False(t, maps.Equal(nothing, values(t, *of)), "%s has no metric", field.Name)
	}
	for i, field := range reflect.VisibleFields(reflect.TypeFor[engine.Stats]()) {
		if !slices.Contains([]string{"Masters", "Lost", "Taken", "SplitVotes", "NoQuorum", "Denied", "Expired"}, field.Name) { // sums, but for Masters
			s := stats()
			check(field, reflect.ValueOf(&s).Elem().Field(i), &s)
		}
	}
	for i, field := range reflect.VisibleFields(reflect.TypeFor[engine.MasterStats]()) {
		s := stats()
		check(field, reflect.ValueOf(&s.Masters[0]).Elem().Field(i), &s)
	}
}

func TestKindsOfLocksSumUpToAllOfThem(t *testing.T) {
	got := values(t, engine.Stats{Acquired: 7, AcquiredShared: 4, AcquiredPermits: 2, Held: 6, HeldShared: 1, HeldPermits: 3})
	for kind, want := range map[string][2]float64{"exclusive": {1, 2}, "shared": {4, 1}, "permit": {2, 3}} {
		require.Equal(t, want, [2]float64{got[[2]string{"muxlock.acquired", kind}], got[[2]string{"muxlock.held", kind}]}, kind)
	}
}

func TestInstrumentsAreDescribedAndKeepTheirDescription(t *testing.T) {
	seen := make(map[string]Instrument)
	check := func(i Instrument, _ float64, _ ...string) {
		require.Regexp(t, `^muxlock(\.[a-z]+(_[a-z]+)*)+$`, i.Name)
		require.Regexp(t, `^(s|\{[a-z]+\})$`, i.Unit, i.Name)
		require.NotEmpty(t, i.Help, i.Name)
		if known, ok := seen[i.Name]; ok {
			require.Equal(t, known, i)
		}
		seen[i.Name] = i
	}
	Each(Source{Stats: engine.Stats{Masters: make([]engine.MasterStats, 2)}, ByWait: make([]engine.HotName, 1), ByAcquires: make([]engine.HotName, 1)}, check)
	for _, i := range []Instrument{Wait, Hold, Release} {
		require.NotContains(t, seen, i.Name)
		check(i, 0)
	}
}

func TestAMasterThatIsUpAndGivesAReasonHasNoVote(t *testing.T) {
	for _, c := range []struct {
		m     engine.MasterStats
		votes float64
	}{
		{engine.MasterStats{Up: true}, 1},
		{engine.MasterStats{Up: true, Cause: engine.ErrConfigMismatch}, 0}, // with Fencing; it has no VotesFrom
		{engine.MasterStats{Up: true, Cause: engine.ErrRestarted, VotesFrom: time.Unix(1, 0)}, 0},
		{engine.MasterStats{}, 0},
	} {
		require.Equal(t, c.votes, values(t, engine.Stats{Masters: []engine.MasterStats{c.m}})[[2]string{"muxlock.master.votes", ""}], c.m)
	}
}
