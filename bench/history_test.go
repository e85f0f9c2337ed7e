package bench

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// offenders returns both sides of the first overlap of a key: the marked acquire, and one of another worker. Neither was over nor
// released when the later one began. Of two that come at once, the one that enters first may be the later one.
func offenders(events []Event) (second, first *Event) {
	released := func(e Event, before int64) bool {
		return slices.ContainsFunc(events, func(g Event) bool {
			return g.Kind == EventReleased && g.Worker == e.Worker && g.Key == e.Key && g.FromNs >= e.ToNs && g.FromNs <= before
		})
	}
	for i, e := range events {
		for j, f := range events {
			both := max(e.ToNs, f.ToNs)
			if e.Overlap && f.Acquires() && f.Key == e.Key && f.Worker != e.Worker && !(f.Kind == EventRead && e.Kind == EventRead) &&
				min(e.UntilNs, f.UntilNs) > both && !released(e, both) && !released(f, both) {
				return &events[i], &events[j]
			}
		}
	}
	return nil, nil
}

func TestHistoryShowsBothHoldersOfAnOverlapAcrossProcesses(t *testing.T) {
	cfg := Config{Workers: 2, Procs: 2, Keys: 2, Dist: Uniform(), KeyPrefix: "k", Duration: 200 * time.Millisecond,
		TTL: time.Hour, Hold: Fixed(time.Millisecond), History: 64}
	r := inParts(t, newLeases(2, time.Millisecond), cfg)
	require.Positive(t, r.Safety.Overlaps)
	second, first := offenders(r.History)
	require.NotNil(t, second)
	require.NotEqual(t, first.Worker, second.Worker)
	require.True(t, slices.ContainsFunc(r.History, func(e Event) bool {
		return e.Kind == EventReleased && e.Key == first.Key && e.Worker == first.Worker && e.FromNs > second.ToNs
	}), "and when the first let go")
	require.LessOrEqual(t, len(r.History), 2*2*64)
	for i, e := range r.History {
		require.LessOrEqual(t, e.FromNs, e.ToNs)
		require.Equal(t, e.Worker/2, e.Proc)
		if i > 0 {
			require.LessOrEqual(t, r.History[i-1].FromNs, e.FromNs)
		}
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"history"`, "it is for a file of its own")
}

func TestHistoryKeepsTheLatestEventsAndFreezesSoonAfterAnOverlap(t *testing.T) {
	table := newTable(Config{Keys: 2, Dist: Uniform(), Procs: 2, History: 8})
	h := newHistory(table, []string{"a", "b"}, 1)
	add := func(key, n int) {
		h.add(key, Event{Kind: EventAcquired, FromNs: int64(n), ToNs: int64(n)})
	}
	for n := range 20 {
		add(0, n)
		add(1, n)
	}
	a := &audit{table}
	a.enter(0, 1, 19, 100*ms, 0, at(19))
	a.enter(0, 2, 20, 100*ms, 0, at(20))
	a.enter(0, 3, 21, 100*ms, 0, at(21)) // a later one counts, but is not the first
	for n := range 20 {
		add(0, 20+n)
		add(1, 20+n)
	}
	events := h.violations()
	var seen []int64
	for _, e := range events {
		require.Equal(t, "a", e.Key)
		require.Equal(t, 1, e.Proc)
		require.Equal(t, e.ToNs == 20, e.Overlap)
		seen = append(seen, e.FromNs)
	}
	slices.Sort(seen)
	require.Equal(t, []int64{14, 15, 16, 17, 18, 19, 20, 21}, seen, "six before, two after")
}
