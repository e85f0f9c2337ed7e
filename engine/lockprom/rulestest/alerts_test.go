package rulestest

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

type rule struct {
	Alert, Expr         string
	For                 time.Duration
	Labels, Annotations map[string]string
}

// alerts reads alerts.yaml, which has no fields but these.
func alerts(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	f, err := os.Open("../alerts.yaml")
	require.NoError(t, err)
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	require.NoError(t, d.Decode(&file))
	require.Len(t, file.Groups, 1)
	return file.Groups[0].Rules
}

// firing returns the alerts whose expression has held for as long as they wait, each with its
// texts filled in.
func (s *server) firing(t *testing.T) []string {
	t.Helper()
	firing := []string{}
	for _, r := range alerts(t) {
		found := s.query(t, r.Expr, s.now)
		for at := s.now.Add(-r.For); at.Before(s.now) && len(found) > 0; at = at.Add(interval) {
			if len(s.query(t, r.Expr, at)) == 0 {
				found = nil
			}
		}
		for _, alert := range found {
			require.NotEmpty(t, r.Labels["severity"])
			for _, text := range r.Annotations {
				fill(t, text, alert.Metric.Map(), alert.F)
			}
			firing = append(firing, r.Alert)
		}
	}
	return firing
}

// fill requires that a text names only labels of the alert.
func fill(t *testing.T, text string, labels map[string]string, value float64) {
	t.Helper()
	page, err := template.New("").Option("missingkey=error").Parse("{{$labels := .Labels}}{{$value := .Value}}" + text)
	require.NoError(t, err)
	require.NoError(t, page.Execute(io.Discard, map[string]any{"Labels": labels, "Value": value}), text)
}

func TestEachAlertFiresOnItsOwnSituationAlone(t *testing.T) {
	for name, to := range exports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := redistest.Masters(t, 3)
			locks, p := serve(t, masters, to), newServer()
			scrape := func() []string {
				for range 14 { // longer than any alert waits
					p.scrape(t, locks.registry)
				}
				return p.firing(t)
			}
			require.Empty(t, scrape())
			locks.work(t)
			require.Empty(t, scrape(), "a call that found its lock taken is no alert")

			lock, err := locks.Acquire(t.Context(), "lost", 0)
			require.NoError(t, err)
			for _, m := range masters {
				redistest.Command(t, m, "FLUSHALL")
			}
			require.ErrorIs(t, lock.Extend(t.Context(), 0), engine.ErrLost)
			require.Equal(t, []string{"MuxlockLocksLost"}, scrape())
			p.now = p.now.Add(10 * time.Minute)
			require.Empty(t, scrape(), "it was some time ago")
			lock, err = locks.Acquire(t.Context(), "released by force", 0)
			require.NoError(t, err)
			for _, m := range masters {
				redistest.Command(t, m, "DEL", "released by force")
			}
			require.ErrorIs(t, lock.Release(t.Context()), engine.ErrNotHeld)
			require.Equal(t, []string{"MuxlockLocksLost"}, scrape())
			p.now = p.now.Add(10 * time.Minute)
			require.Empty(t, scrape(), "it was some time ago")

			require.NoError(t, masters[0].Kill())
			locks.votes(t, 2)
			require.Equal(t, []string{"MuxlockNoSpareMaster"}, scrape())
			locks.work(t)

			require.NoError(t, masters[1].Kill())
			locks.votes(t, 1)
			_, err = locks.TryAcquire(t.Context(), "no quorum", 0)
			require.ErrorIs(t, err, engine.ErrNoQuorum)
			for range 14 {
				p.scrape(t, locks.registry)
				require.Equal(t, []string{"MuxlockNoSpareMaster"}, p.firing(t), "a single attempt is no alert")
			}
			for range 14 {
				_, err = locks.TryAcquire(t.Context(), "no quorum", 0)
				require.ErrorIs(t, err, engine.ErrNoQuorum)
				p.scrape(t, locks.registry)
			}
			require.Equal(t, []string{"MuxlockNoQuorum", "MuxlockNoSpareMaster"}, p.firing(t))
		})
	}
}

// While masters are away or wait after a restart, their locks can only be on the others.
func TestLocksErodedFiresOnceAVotingMasterLacksAKeptLockForAMinute(t *testing.T) {
	for name, to := range exports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := redistest.Masters(t, 3)
			locks, p := serve(t, masters, to, func(c *engine.Config) { c.TTL, c.MaxTTL, c.MasterTimeout = 6*time.Second, 6*time.Second, 2*time.Second }), newServer()
			scrapes := func(n int, firing ...string) {
				t.Helper()
				for range n {
					p.scrape(t, locks.registry)
				}
				require.Equal(t, append([]string{}, firing...), p.firing(t))
			}
			mayGoOn := func() bool { // the sign that one may go on, of cmd/muxlock/RUNBOOK.md
				return len(p.query(t, "min(muxlock_master_votes) == 1 and max(muxlock_eroded) == 0", p.now)) > 0
			}
			const minute = 1 + time.Minute/interval // in scrapes
			lock, err := locks.Acquire(t.Context(), "name", 0)
			require.NoError(t, err)
			require.NoError(t, lock.KeepAlive(0))
			on := func(want int) {
				t.Helper()
				await.Within(t, time.Minute, func() bool { on, _ := lock.HeldOn(); return on == want }, "held on %d", want)
			}
			require.NoError(t, masters[0].Kill())
			locks.votes(t, 2)
			on(2)
			scrapes(int(minute), "MuxlockNoSpareMaster")
			require.NoError(t, masters[0].Restart(t.Context()))
			await.Within(t, time.Minute, func() bool { return !locks.Stats().Masters[0].VotesFrom.IsZero() })
			scrapes(1, "MuxlockNoSpareMaster")
			require.False(t, mayGoOn(), "it waits")
			locks.votes(t, 3)
			on(3)
			scrapes(int(minute))
			require.True(t, mayGoOn())
			require.NotZero(t, locks.Stats().Healed)

			redistest.Command(t, masters[1], "SET", "name", "another", "PX", "600000")
			await.Within(t, time.Minute, func() bool { return locks.Stats().Eroded == 1 })
			scrapes(int(minute) - 1)
			scrapes(1, "MuxlockLocksEroded")
			require.False(t, mayGoOn(), "all vote, and one lacks the lock")
			redistest.Command(t, masters[1], "DEL", "name")
			await.Within(t, time.Minute, func() bool { return locks.Stats().Eroded == 0 })
			scrapes(1)
			require.NoError(t, lock.Err())
		})
	}
}

func TestAMasterOfAnotherSetIsNoSpareOne(t *testing.T) {
	masters := redistest.Masters(t, 3)
	setUp := func(of []*redisserver.Server) {
		cfg := engine.Config{Masters: redistest.Addrs(of), MasterTimeout: 5 * time.Second}
		require.NoError(t, admin.SetUp(t.Context(), cfg, admin.SetUpOptions{MastersAreNew: true}))
	}
	setUp(masters)
	redistest.Command(t, masters[2], "FLUSHALL")
	setUp(masters[2:])
	locks := serve(t, masters, exports["lockprom"], func(c *engine.Config) { c.Fencing, c.MastersAreNew = true, false })
	p := newServer()
	for range 6 {
		p.scrape(t, locks.registry)
	}
	require.Equal(t, []string{"MuxlockNoSpareMaster", "MuxlockMasterNeedsAction"}, p.firing(t))
	require.True(t, locks.Stats().Masters[2].Up)
}

func TestNoSpareMasterFiresWhenTheNextFailureStopsAllLocks(t *testing.T) {
	for masters := 1; masters <= 9; masters++ {
		for voting := range masters + 1 {
			p := newServer()
			for range 6 {
				var page strings.Builder
				for i := range masters {
					for _, engine := range []string{"a", "b"} { // one of two in the process, whose masters all vote
						votes := 1
						if engine == "a" && i >= voting {
							votes = 0
						}
						fmt.Fprintf(&page, "muxlock_master_votes{master=\"%d\",locks=%q} %d\n", i, engine, votes)
					}
				}
				p.read(t, page.String())
				if voting == masters || voting >= masters/2+1+1 {
					require.Empty(t, p.firing(t), "%d of %d vote", voting, masters)
				}
			}
			if voting < masters && voting < masters/2+1+1 {
				require.Equal(t, []string{"MuxlockNoSpareMaster"}, p.firing(t), "%d of %d vote", voting, masters)
			}
		}
	}
}

func TestNoSpareMasterWaitsOutARestart(t *testing.T) {
	p := newServer()
	for range 4 { // without a vote for 45 s
		p.read(t, "muxlock_master_votes{master=\"a\"} 0\nmuxlock_master_votes{master=\"b\"} 1\nmuxlock_master_votes{master=\"c\"} 1\n")
		require.Empty(t, p.firing(t))
	}
}
