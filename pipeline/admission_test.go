package pipeline

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testWait = 10 * time.Second

func TestWhenAMasterVotes(t *testing.T) {
	type sight struct {
		runID      string
		uptime, at float64 // in seconds
	}
	for _, c := range []struct {
		name   string
		seen   []sight
		from   float64 // when it votes; 0: at once
		reason string  // at the last sight
	}{
		{"first meeting, up for long", []sight{{"a", 1000, 5}}, 0, ""},
		{"first meeting, up for just long enough", []sight{{"a", 10, 5}}, 0, ""},
		{"first meeting, up for almost long enough", []sight{{"a", 9, 5}}, 6, "started 9s ago: no vote for another 1s"},
		{"first meeting, just started", []sight{{"a", 0, 5}}, 15, "started 0s ago: no vote for another 10s"},
		{"connection cut", []sight{{"a", 1000, 5}, {"a", 1002, 7}}, 0, ""},
		{"connection cut during the wait", []sight{{"a", 4, 5}, {"a", 6, 7}}, 11, "started 6s ago: no vote for another 4s"},
		{"a wall clock set meanwhile", []sight{{"a", 4, 5}, {"a", 1e6, 7}}, 11, "started 6s ago: no vote for another 4s"},
		{"restarted", []sight{{"a", 1000, 5}, {"b", 0, 7}}, 17, "restarted: no vote for another 10s"},
		{"restarted, and uptime does not shorten it", []sight{{"a", 1000, 5}, {"b", 1e6, 7}}, 17, "restarted: no vote for another 10s"},
		{"restarted, then cut", []sight{{"a", 1000, 5}, {"b", 0, 7}, {"b", 2, 9}}, 17, "restarted: no vote for another 8s"},
		{"restarted again during the wait", []sight{{"a", 1000, 5}, {"b", 0, 7}, {"c", 0, 16}}, 26, "restarted: no vote for another 10s"},
		{"restarted after a first wait", []sight{{"a", 0, 5}, {"b", 0, 16}}, 26, "restarted: no vote for another 10s"},
		{"met again after another", []sight{{"a", 1000, 5}, {"b", 1000, 7}, {"a", 1000, 9}}, 19, "restarted: no vote for another 10s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := admission{wait: testWait}
			for _, s := range c.seen {
				a = a.see(s.runID, time.Duration(s.uptime)*time.Second, at(s.at))
			}
			err := a.waits(at(c.seen[len(c.seen)-1].at))
			if c.from == 0 {
				require.Zero(t, a.votesFrom)
				require.NoError(t, err)
				return
			}
			require.Equal(t, at(c.from), a.votesFrom)
			require.ErrorIs(t, err, ErrRestarted)
			require.EqualError(t, err, c.reason+", until every lease it may have forgotten has run out")
			require.Error(t, a.waits(at(c.from).Add(-1)))
			require.NoError(t, a.waits(at(c.from)))
			require.NoError(t, a.waits(at(c.from+1e6)))
		})
	}
}

// TestWaitOverAllShortHistories walks through every history of three probes and says
// of each, in other words than see does, when the master may vote.
func TestWaitOverAllShortHistories(t *testing.T) {
	histories := 0
	for _, wait := range []time.Duration{0, testWait} {
		for _, trusted := range []bool{false, true} {
			var walk func(a admission, ids string, now, from time.Time, depth int)
			walk = func(a admission, ids string, now, from time.Time, depth int) {
				histories++
				for _, moment := range []time.Time{now, from.Add(-1), from, from.Add(1)} {
					if must := wait > 0 && moment.Before(from); !moment.Before(now) && must != (a.waits(moment) != nil) {
						require.Failf(t, "wrong", "%s: wait %v, trusted %t, at %v: must wait: %t", ids, wait, trusted, moment, must)
					}
				}
				if depth == 0 {
					return
				}
				for _, id := range []string{"a", "b", "c"} {
					for _, uptime := range []time.Duration{0, testWait - 1, testWait, math.MaxInt64} {
						for _, later := range []time.Duration{0, testWait / 2, testWait} {
							now, from := now.Add(later), from
							switch last := ids[len(ids)-1:]; {
							case last == id:
							case last != "-":
								from = now.Add(wait)
							case !trusted:
								from = now.Add(max(wait-uptime, 0))
							}
							walk(a.see(id, uptime, now), ids+id, now, from, depth-1)
						}
					}
				}
			}
			walk(admission{wait: wait, trusted: trusted}, "-", at(0), at(0), 3)
		}
	}
	t.Logf("%d histories", histories)
}

func TestTheWaitIsNeverToldTooShort(t *testing.T) {
	a := admission{wait: testWait, runID: "a"}.see("b", 0, at(0))
	for left, text := range map[time.Duration]string{
		1: "100ms", 100 * time.Millisecond: "100ms", 100*time.Millisecond + 1: "200ms", 1900*time.Millisecond + 1: "2s", testWait - 1: "10s",
	} {
		require.ErrorContains(t, a.waits(at(10).Add(-left)), fmt.Sprintf("for another %s,", text))
	}
}

func TestUptimeThatIsMissingOrOddIsReadAsJustStarted(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "x": 0, "1.5": 0, "-1": 0, "-3598": 0, "-99999999999999999999": 0, "1": time.Second, "86400": 24 * time.Hour,
	} {
		require.Equal(t, want, uptime(map[string]string{"uptime_in_seconds": text}), "%q", text)
	}
	require.Zero(t, uptime(nil))
	for _, huge := range []string{"9223372036", "9223372037", "9223372036854775807", "99999999999999999999"} {
		require.Greater(t, uptime(map[string]string{"uptime_in_seconds": huge}), 100*365*24*time.Hour, huge)
	}
}
