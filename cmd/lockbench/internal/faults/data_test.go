package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/internal/redisserver"
	"muxlock/internal/redistest"
	"muxlock/internal/serverinfo"
)

// begin begins faults on servers of their own.
func begin(t *testing.T, servers int, texts ...string) (masters []*redisserver.Server, end func()) {
	t.Helper()
	list := parse(t, texts...)
	masters = redistest.MastersWith(t, servers, redisserver.Options{Args: faults.ServerArgs(list)})
	for _, m := range masters {
		redistest.Command(t, m, "SET", m.Addr(), "before")
	}
	rig, err := faults.NewRig(list, masters)
	require.NoError(t, err)
	finish := rig.Begin(time.Now())
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

// comesBackEmpty is that no data are left for a later restart.
func comesBackEmpty(t *testing.T, m *redisserver.Server) {
	t.Helper()
	require.NoError(t, m.Kill())
	require.NoError(t, m.Restart(t.Context()))
	require.Empty(t, redistest.Keys(t, m))
}

func TestACopyHasTheDataOfTheNextMasterAndIsAMasterAgain(t *testing.T) {
	t.Parallel()
	masters, end := begin(t, 2, "copy:2@10ms")
	runID := field(t, masters[1], "run_id")
	eventually(t, "copied", func() bool {
		role := redistest.Command(t, masters[1], "ROLE").([]any)[0]
		return role == "master" && redistest.Command(t, masters[1], "GET", masters[0].Addr()) == "before"
	})
	end()
	require.Equal(t, []string{masters[0].Addr()}, redistest.Keys(t, masters[1]))
	require.Equal(t, runID, field(t, masters[1], "run_id"))
	comesBackEmpty(t, masters[1])
}

func TestACopyTakesTheNextMasterThatAnswers(t *testing.T) {
	t.Parallel()
	masters, end := begin(t, 3, "kill:2@0s-30s", "copy:1@500ms")
	eventually(t, "copied", func() bool { return redistest.Command(t, masters[0], "GET", masters[2].Addr()) == "before" })
	end()
}

func TestACopyOfNobodyEnds(t *testing.T) {
	t.Parallel()
	masters, end := begin(t, 2, "stop:2@0s-30s", "copy:1@500ms")
	replica := func() bool { return redistest.Command(t, masters[0], "ROLE").([]any)[0] == "slave" }
	eventually(t, "a replica", replica)
	eventually(t, "a master again", func() bool { return !replica() })
	end()
	require.Equal(t, []string{masters[0].Addr()}, redistest.Keys(t, masters[0]))
}

func TestASwapForgetsTheLocksAndBringsOldOnesBack(t *testing.T) {
	t.Parallel()
	masters, end := begin(t, 1, "swapdb:1@100ms-3s", "swapdb:1@4s")
	addr := masters[0].Addr()
	get := func() any { return redistest.Command(t, masters[0], "GET", addr) }
	eventually(t, "swapped", func() bool { return get() == nil })
	redistest.Command(t, masters[0], "SET", addr, "meanwhile")
	eventually(t, "back", func() bool { return get() == "before" })
	eventually(t, "swapped again", func() bool { return get() == "meanwhile" })
	end()
	require.Equal(t, "meanwhile", get())
}

func TestARollbackForgetsWhatWasWrittenSinceItBegan(t *testing.T) {
	t.Parallel()
	masters, end := begin(t, 1, "rollback:1@100ms-3s")
	m := masters[0]
	eventually(t, "saved", func() bool { return field(t, m, "rdb_changes_since_last_save") == "0" })
	pid := m.PID()
	redistest.Command(t, m, "SET", "meanwhile", "1")
	eventually(t, "restarted", func() bool { return m.PID() != pid })
	end()
	require.Equal(t, []string{m.Addr()}, redistest.Keys(t, m))
	comesBackEmpty(t, m)
}
