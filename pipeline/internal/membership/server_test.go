package membership

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testedWait = 10 * time.Second
	tick       = 200 * time.Millisecond // as often as a busy master is checked
)

// at is a moment, in seconds after the start of a test.
func at(seconds float64) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// see calls Check for a server whose INFO has nothing on replication.
func (a Server) see(runID string, uptime time.Duration, now time.Time) Server {
	a, err := a.Check(map[string]string{"run_id": runID, "uptime_in_seconds": fmt.Sprint(int64(uptime / time.Second))}, now, now)
	if err != nil {
		panic(err)
	}
	return a
}

func TestWhenAMasterVotes(t *testing.T) {
	type meeting struct {
		runID      string
		uptime, at float64 // in seconds
	}
	for _, c := range []struct {
		name   string
		seen   []meeting
		from   float64 // when it votes; 0: at once
		reason string  // at the last meeting
	}{
		{"first meeting, up for long", []meeting{{"a", 1000, 5}}, 0, ""},
		{"first meeting, up for just long enough", []meeting{{"a", 10, 5}}, 0, ""},
		{"first meeting, up for almost long enough", []meeting{{"a", 9, 5}}, 6, "started 9s ago: no vote for another 1s"},
		{"first meeting, just started", []meeting{{"a", 0, 5}}, 15, "started 0s ago: no vote for another 10s"},
		{"connection cut", []meeting{{"a", 1000, 5}, {"a", 1002, 7}}, 0, ""},
		{"connection cut during the wait", []meeting{{"a", 4, 5}, {"a", 6, 7}}, 11, "started 6s ago: no vote for another 4s"},
		{"a wall clock set meanwhile", []meeting{{"a", 4, 5}, {"a", 1e6, 7}}, 11, "started 6s ago: no vote for another 4s"},
		{"restarted", []meeting{{"a", 1000, 5}, {"b", 0, 7}}, 17, "restarted: no vote for another 10s"},
		{"restarted, and uptime does not shorten it", []meeting{{"a", 1000, 5}, {"b", 1e6, 7}}, 17, "restarted: no vote for another 10s"},
		{"restarted, then cut", []meeting{{"a", 1000, 5}, {"b", 0, 7}, {"b", 2, 9}}, 17, "restarted: no vote for another 8s"},
		{"restarted again during the wait", []meeting{{"a", 1000, 5}, {"b", 0, 7}, {"c", 0, 16}}, 26, "restarted: no vote for another 10s"},
		{"restarted after a first wait", []meeting{{"a", 0, 5}, {"b", 0, 16}}, 26, "restarted: no vote for another 10s"},
		{"met again after another", []meeting{{"a", 1000, 5}, {"b", 1000, 7}, {"a", 1000, 9}}, 19, "restarted: no vote for another 10s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Server{Wait: testedWait}
			for _, s := range c.seen {
				a = a.see(s.runID, time.Duration(s.uptime)*time.Second, at(s.at))
			}
			err := a.NotVoting(at(c.seen[len(c.seen)-1].at))
			if c.from == 0 {
				require.Zero(t, a.VotesFrom)
				require.NoError(t, err)
				return
			}
			require.Equal(t, at(c.from), a.VotesFrom)
			require.ErrorIs(t, err, ErrRestarted)
			require.EqualError(t, err, c.reason+", until every lease it may have forgotten has run out")
			require.Error(t, a.NotVoting(at(c.from).Add(-1)))
			require.NoError(t, a.NotVoting(at(c.from)))
			require.NoError(t, a.NotVoting(at(c.from+1e6)))
		})
	}
}

func TestTextNeverHasTooShortAWait(t *testing.T) {
	a := Server{Wait: testedWait, RunID: "a"}.see("b", 0, at(0))
	for left, text := range map[time.Duration]string{
		1: "100ms", 100 * time.Millisecond: "100ms", 100*time.Millisecond + 1: "200ms", 1900*time.Millisecond + 1: "2s", testedWait - 1: "10s",
	} {
		require.ErrorContains(t, a.NotVoting(at(10).Add(-left)), fmt.Sprintf("for another %s,", text))
	}
}

func TestWhatCountsAsAnotherDataSet(t *testing.T) {
	look := func(role, id, offset string) map[string]string {
		return map[string]string{"role": role, "master_replid": id, "second_repl_offset": offset}
	}
	voting := look("master", "x", "-1")
	const soon, late = 200 * time.Millisecond, time.Second
	for _, c := range []struct {
		name      string
		since     time.Duration // the last look
		last      map[string]string
		next      map[string]string
		notVoting bool
		fails     bool // the connection must end
	}{
		{"nothing happened", soon, voting, voting, false, false},
		{"nothing happened for long", testedWait, voting, voting, false, false},
		{"REPLICAOF another, or an address that is silent", soon, voting, look("slave", "x", "-1"), false, true},
		{"a replica that was promoted", soon, look("slave", "y", "-1"), look("master", "z", "51"), true, false},
		{"a replica that was promoted, and its offset was wiped out", late, look("slave", "y", "-1"), look("master", "z", "-1"), true, false},
		{"a replica, then a master that says the same", soon, look("slave", "y", "-1"), look("master", "y", "-1"), true, false},
		{"a replica, as before", soon, look("slave", "y", "-1"), look("slave", "y", "-1"), false, true},
		{"a replica and back between two looks", soon, voting, look("master", "z", "51"), true, true},
		{"a replica and back, with nothing written", soon, voting, look("master", "z", "0"), true, true},
		{"a replica and back once more", soon, look("master", "x", "51"), look("master", "z", "51"), true, true},
		{"promoted before it was met first", soon, look("master", "x", "51"), look("master", "x", "51"), false, false},
		{"its first replica connects", soon, voting, look("master", "z", "-1"), false, false},
		{"repl-backlog-ttl after its last replica", soon, look("master", "x", "51"), look("master", "z", "-1"), false, false},
		{"either of these, or a replica and back, during an absence", late, voting, look("master", "z", "-1"), true, true},
		{"it says nothing of replication", testedWait, map[string]string{}, map[string]string{}, false, false},
		{"another kind of server, without an offset", soon, look("master", "x", ""), look("master", "z", ""), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, a := range map[string]Server{"": {Wait: testedWait, Trusted: true}, "durable": {Wait: testedWait, Durable: true}} {
				c.last["run_id"] = "a"
				a, _ = a.Check(c.last, at(0), at(0))
				a.Trusted = false
				now := at(0).Add(c.since)
				for _, id := range []string{"a", ""} { // all of INFO, or the section replication
					c.next["run_id"] = id
					b, err := a.Check(c.next, now.Add(-time.Millisecond), now)
					if c.since == late {
						b, err = a.Check(c.next, now, now)
					}
					require.Equal(t, c.fails, err != nil, "%s: %v", name, err)
					require.Equal(t, c.notVoting, b.NotVoting(now) != nil, name)
					if !c.notVoting {
						continue
					}
					require.Equal(t, now.Add(testedWait), b.VotesFrom)
					require.EqualError(t, b.NotVoting(now), "was a replica meanwhile, its data set may be another: no vote for another 10s, until every lease it may have forgotten has run out")
					if c.fails {
						require.ErrorIs(t, err, ErrRestarted)
					}
					again, err := b.Check(c.next, now, now.Add(time.Second))
					require.NoError(t, err, "an error once only")
					require.Equal(t, b.VotesFrom, again.VotesFrom)
				}
			}
		})
	}
}

func TestWhatAServerReceivedIsRememberedUntilItSaysOtherwise(t *testing.T) {
	a, err := Server{}.Check(map[string]string{"run_id": "a", "total_net_repl_input_bytes": "7"}, at(0), at(0))
	require.NoError(t, err)
	require.Equal(t, "7", a.Received)
	a, err = a.Check(map[string]string{}, at(1), at(1))
	require.NoError(t, err)
	require.Equal(t, "7", a.Received)
	require.True(t, a.Glanced(at(1.4)))
	require.False(t, a.Glanced(at(1.5)))
	require.Zero(t, a.Swaps)
	a, _ = a.Check(map[string]string{"role": "slave"}, at(2), at(2))
	a, err = a.Check(map[string]string{"role": "master"}, at(3), at(3))
	require.NoError(t, err)
	require.Equal(t, 1, a.Swaps)
}

func TestPromotedReplicaUnderTheSameAddressCountsAsARestart(t *testing.T) {
	old := map[string]string{"run_id": "a", "role": "master", "master_replid": "x", "second_repl_offset": "-1", "uptime_in_seconds": "1000"}
	promoted := map[string]string{"run_id": "b", "role": "master", "master_replid": "y", "second_repl_offset": "51", "uptime_in_seconds": "1000"}
	for _, durable := range []bool{false, true} { // durable says nothing about a replica
		a, err := Server{Wait: testedWait, Durable: durable}.Check(old, at(0), at(0))
		require.NoError(t, err)
		require.NoError(t, a.NotVoting(at(0)))
		a, err = a.Check(promoted, at(5), at(5))
		require.NoError(t, err)
		require.Equal(t, at(15), a.VotesFrom)
	}
}

func TestRestartOfADurableMasterIsNotWaitedFor(t *testing.T) {
	a := Server{Wait: testedWait, Durable: true}.see("a", 0, at(0))
	require.NoError(t, a.NotVoting(at(0)))
	require.NoError(t, a.see("b", 0, at(5)).NotVoting(at(5)))
}

// What the restart keeps is the data of another.
func TestRestartOfADurableMasterDoesNotEndTheWaitForAReplacedDataSet(t *testing.T) {
	a := Server{Wait: testedWait, Durable: true}.see("a", 0, at(0))
	a, _ = a.Check(map[string]string{"run_id": "a", "role": "slave"}, at(1), at(1))
	a = a.see("a", 0, at(2)).see("b", 0, at(5))
	require.Equal(t, at(12), a.VotesFrom)
	require.Error(t, a.NotVoting(at(5)))
}

// A model is a server as Redis is. It also knows when its data were replaced, which INFO does not
// say.
type model struct {
	ids, ID      int // the last master_replid that was given out, and its own
	replica      bool
	offset       string
	promoted     time.Time
	replacements int // times that its data were replaced
}

// info is all of INFO, or its section replication.
func (m *model) info(received bool) map[string]string {
	role := "master"
	if m.replica {
		role = "slave"
	}
	info := map[string]string{"run_id": "a", "role": role, "master_replid": fmt.Sprint(m.ID), "second_repl_offset": m.offset, "uptime_in_seconds": "1000"}
	if received {
		info["total_net_repl_input_bytes"] = fmt.Sprint(1000 * m.replacements)
	}
	return info
}

// events are what may happen to a model; false: not now.
var events = map[string]func(m *model, now time.Time) bool{
	"REPLICAOF, synchronised": func(m *model, _ time.Time) bool {
		m.ids, m.replacements = m.ids+1, m.replacements+1
		m.replica, m.ID, m.offset = true, m.ids, "-1"
		return true
	},
	"REPLICAOF, silent": func(m *model, _ time.Time) bool {
		m.replica = true
		return true
	},
	"REPLICAOF NO ONE": func(m *model, now time.Time) bool {
		if m.replica {
			m.ids++
			m.replica, m.ID, m.offset, m.promoted = false, m.ids, "7", now
		}
		return true
	},
	"a new id without a loss": func(m *model, now time.Time) bool {
		if m.replica || m.offset != "-1" && now.Sub(m.promoted) <= BacklogTTL {
			return false
		}
		m.ids++
		m.ID, m.offset = m.ids, "-1"
		return true
	},
	"nothing": func(*model, time.Time) bool { return true },
}

// TestNoReplacedDataSetVotesInAnyShortHistory walks through every history of four events. After
// each event there is a check, some time later, or none. Some servers say how much they received,
// some do not.
func TestNoReplacedDataSetVotesInAnyShortHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for _, says := range []bool{true, false} {
		t.Run(fmt.Sprint("says what it received ", says), func(t *testing.T) { noReplacedDataSetVotes(t, says) })
	}
}

func noReplacedDataSetVotes(t *testing.T, says bool) {
	histories, kept := 0, 0
	var walk func(a Server, m model, seen int, loss bool, now time.Time, depth int, history string)
	walk = func(a Server, m model, seen int, loss bool, now time.Time, depth int, history string) {
		if depth == 0 {
			return
		}
		for name, event := range events {
			for _, later := range []time.Duration{tick, BacklogTTL + 1} {
				m, now := m, now.Add(later)
				if !event(&m, now) {
					continue
				}
				histories++
				loss := loss || name != "nothing" && name != "a new id without a loss"
				history := fmt.Sprint(history, ", ", later, ": ", name)
				walk(a, m, seen, loss, now, depth-1, history)
				b, err := a.Check(m.info(says && !a.Glanced(now)), now, now)
				switch {
				case m.replica:
					require.Error(t, err, history)
				case m.replacements > seen:
					require.Error(t, b.NotVoting(now), history)
				case !loss && (now.Sub(a.Asked) < BacklogTTL || says && a.Received == m.info(says)["total_net_repl_input_bytes"]):
					require.NoError(t, err, history)
					require.Equal(t, a.VotesFrom, b.VotesFrom, history)
					kept++
				}
				if !m.replica {
					seen, loss = m.replacements, false
				}
				walk(b, m, seen, loss, now, depth-1, history+", checked")
			}
		}
	}
	m := model{offset: "-1"}
	a, err := Server{Wait: testedWait}.Check(m.info(says), at(0), at(0))
	require.NoError(t, err)
	require.NoError(t, a.NotVoting(at(0)))
	walk(a, m, 0, false, at(0), 4, "")
	t.Logf("%d histories, %d of them without a loss", histories, kept)
	require.Greater(t, kept, 100)
}
