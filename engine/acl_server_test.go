package engine

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

// openAs opens an engine for the documented user with these rules.
func openAs(t *testing.T, masters []*redisserver.Server, rights []string, changes ...func(*Config)) (*Engine, error) {
	t.Helper()
	redistest.Grant(t, masters, rights...)
	cfg := Config{
		Masters: redistest.Addrs(masters), MastersAreNew: true, MasterTimeout: await.Patience,
		Client: rueidis.ClientOption{Username: "locks", Password: "PASSWORD"},
	}
	e, err := New(t.Context(), with(cfg, changes...))
	if err == nil {
		t.Cleanup(func() { require.NoError(t, e.Close()) })
	}
	return e, err
}

func TestLinesNeedTheirDocumentedRightsAndLocksDoNot(t *testing.T) {
	masters := redistest.Masters(t, 1)
	needed, lines := redistest.DocumentedRights(t).Needed, redistest.DocumentedRights(t).Lines
	for i, right := range append(lines, "none") {
		rest := slices.Clone(lines)
		if right != "none" {
			rest = slices.Delete(rest, i, i+1)
		}
		e, err := openAs(t, masters, slices.Concat(needed, rest))
		require.NoError(t, err)
		e.masters.pipe.Lines(t.Context())
		m := func() pipeline.MasterStats { return e.masters.pipe.Stats().Masters[0] }
		await.True(t, func() bool { return m().Lines || m().NoLine != nil })
		if right == "none" || right == "+zcard" { // only Inspect needs that
			require.NoError(t, m().NoLine, right)
		} else {
			require.ErrorContains(t, m().NoLine, "NOPERM", right)
			require.Contains(t, strings.ToLower(m().NoLine.Error())+"&__muxlock__:*", strings.TrimPrefix(right, "+"))
		}
		cycle(t, e, "locks:n")
		require.Zero(t, setAside(e, 0), right)
		require.NoError(t, e.Close())
	}
}

// A master lost a kept lock, and its ACL takes away what the lock's acquire needs: SET, or only what the fenced acquire needs.
func TestALockIsKeptBesideAMasterThatDeniesItsHeal(t *testing.T) {
	t.Parallel()
	r := redistest.DocumentedRights(t)
	for right, kind := range map[string]func(*Config){"set": func(*Config) {}, "hmget": fenced} {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			masters := fencedSet(t, 3)
			log := counted{new(sync.Mutex), map[string]int{}}
			e, err := openAs(t, masters, slices.Concat(r.Needed, r.Faster, r.Fencing), kind, func(c *Config) { c.Logger, c.TTL = slog.New(log), 6*await.Patience })
			require.NoError(t, err)
			lock := mustAcquire(t, e, "locks:"+t.Name(), 0)
			everywhere(t, masters, lock)
			require.NoError(t, lock.KeepAlive(0))
			lock.lock()
			lock.lease.term.Since = lock.lease.term.Since.Add(-time.Hour) // old enough to be healed
			lock.unlock()
			redistest.Command(t, masters[0], "ACL", "SETUSER", "locks", "-"+right)
			redistest.Command(t, masters[0], "DEL", lock.Name())
			cause := func() error { return e.Stats().Masters[0].Cause }
			await.True(t, func() bool { return cause() != nil })
			for i := range 3 {
				redistest.Denials(t, masters)
				time.Sleep(time.Second)
				n, what := redistest.Denials(t, masters)
				require.Less(t, n, int64(10), "second %d: %s", i, what)
				having, of := lock.HeldOn()
				require.Equal(t, []int{2, 3}, []int{having, of})
				require.NoError(t, lock.Err())
			}
			require.ErrorContains(t, cause(), "NOPERM")
			require.Equal(t, 1, log.count("WARN lock rests on a bare quorum: one more failure ends it"))
			require.Equal(t, 1, log.count("WARN master set aside"))

			redistest.Command(t, masters[0], "ACL", "SETUSER", "locks", "+"+right)
			await.True(t, func() bool { having, of := lock.HeldOn(); return having == of })
			require.EqualValues(t, 1, e.Stats().Healed)
			await.Equal(t, 1, func() any { return log.count("INFO lock is on more than a quorum again") })
			require.NoError(t, lock.Release(t.Context()))
		})
	}
}
