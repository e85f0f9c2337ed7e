package faults_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/internal/redisserver"
	"muxlock/internal/serverinfo"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/wire"
)

// begin begins faults on servers of their own, each with a key named after it.
func begin(t *testing.T, servers int, texts ...string) (masters []*redisserver.Server, end func()) {
	t.Helper()
	rig, masters := rigOf(t, servers, texts...)
	for _, m := range masters {
		redistest.Command(t, m, "SET", m.Addr(), "before")
	}
	finish := rig.Begin(time.Now(), nil)
	return masters, func() {
		bands, err := finish()
		require.NoError(t, err)
		require.Len(t, bands, len(texts))
	}
}

func field(t *testing.T, m *redisserver.Server, name string) string {
	t.Helper()
	return serverinfo.Parse(redistest.Command(t, m, "INFO").(string))[name]
}

// says returns the error of a command; empty: none.
func says(t *testing.T, m *redisserver.Server, words ...string) string {
	t.Helper()
	_, err := wire.Ask(t.Context(), m.Addr(), 10*time.Second, words...)
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAMasterThatIsFullGrantsNothingAndOneThatDeniesWritesNothingAlsoInScripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fault, refused, reason, allowed string }{
		{"full:1@0s-30s", "SET x 1", "OOM", "DEL"},
		{"deny:1@0s-30s", "EVAL return(redis.call('del',KEYS[1])) 1 x", "run this command", "GET"},
	} {
		masters, end := begin(t, 1, c.fault)
		m, refused := masters[0], strings.Fields(c.refused)
		await.True(t, func() bool { return says(t, m, refused...) != "" }, c.fault)
		require.Contains(t, says(t, m, refused...), c.reason)
		require.Empty(t, says(t, m, c.allowed, m.Addr()))
		end()
		require.Empty(t, says(t, m, refused...))
	}
}

func TestAReplicaHasTheDataOfTheNextMasterAndIsAMasterAgain(t *testing.T) {
	t.Parallel()
	masters, end := begin(t, 2, "replica:2@0s-30s")
	m, other := masters[1], masters[0].Addr()
	runID := field(t, m, "run_id")
	await.Equal(t, "before", func() any { return redistest.Command(t, m, "GET", other) }, "copied")
	require.Contains(t, says(t, m, "SET", "x", "1"), "READONLY")
	end()
	require.Empty(t, says(t, m, "SET", "x", "1"))
	require.Equal(t, runID, field(t, m, "run_id"))
	require.NotContains(t, redistest.Keys(t, m), m.Addr())
}

func TestARollbackForgetsWhatWasWrittenSinceItBegan(t *testing.T) {
	t.Parallel()
	masters, end := begin(t, 1, "rollback:1@0s-30s")
	m := masters[0]
	await.Equal(t, "0", func() any { return field(t, m, "rdb_changes_since_last_save") }, "saved")
	pid := m.PID()
	redistest.Command(t, m, "SET", "meanwhile", "1")
	end()
	require.NotEqual(t, pid, m.PID())
	require.Equal(t, []string{m.Addr()}, redistest.Keys(t, m))
	require.NoError(t, m.Kill())
	require.NoError(t, m.Restart(t.Context()))
	require.Empty(t, redistest.Keys(t, m), "a later restart is without the data")
}

// clients notes what is done to the processes of a load.
type clients struct {
	mu   sync.Mutex
	seen []string
}

func (c *clients) note(what string, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, fmt.Sprint(what, " ", n))
	return nil
}

func (c *clients) Pause(n int) error   { return c.note("pause", n) }
func (c *clients) Resume(n int) error  { return c.note("resume", n) }
func (c *clients) Replace(n int) error { return c.note("replace", n) }

func (c *clients) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.seen...)
}

func TestClientsArePausedForAWhileAndReplaced(t *testing.T) {
	t.Parallel()
	rig, err := faults.NewRig(parse(t, "crash:3@1ms", "pause:3@2ms-3ms", "pause:3@10ms-30s"), nil)
	require.NoError(t, err)
	var c clients
	end := rig.Begin(time.Now(), &c)
	await.Equal(t, 4, func() any { return len(c.all()) }, "begun")
	bands, err := end()
	require.NoError(t, err)
	require.Len(t, bands, 3)
	require.Equal(t, []string{"replace 2", "pause 2", "resume 2", "pause 2", "resume 2"}, c.all(), "no process stays stopped")
}
