package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inside is a command that notes that it ran, and whether another one ran at the same time: only one can make the
// folder.
const inside = `mkdir "$0/inside" || echo >"$0/overlap"; echo >>"$0/ran"; sleep 0.003; rmdir "$0/inside"`

// manyAtOnce runs n commands side by side, each under the lock that name returns.
func manyAtOnce(t *testing.T, n int, name func(i int) string) (ran int, overlapped bool) {
	t.Helper()
	s, dir := newSet(t), t.TempDir()
	s.env = append(s.env, "MUXLOCK_MASTER_TIMEOUT=15s") // so many processes at once start slowly
	var jobs []*job
	for i := range n {
		jobs = append(jobs, s.start(t, "exec", name(i), "--ttl", "60s", "--max-ttl", "60s", "--", "sh", "-c", inside, dir))
	}
	for _, j := range jobs {
		code := j.code(t)
		require.True(t, code == 0 || code == 1, "%d: %s", code, j.log) // 1: rmdir, where they overlapped
	}
	notes, err := os.ReadFile(filepath.Join(dir, "ran"))
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(dir, "overlap"))
	return strings.Count(string(notes), "\n"), err == nil
}

func TestAHundredExecsOfOneNameRunOneAtATime(t *testing.T) {
	ran, overlapped := manyAtOnce(t, 100, func(int) string { return "name" })
	require.False(t, overlapped)
	require.Equal(t, 100, ran)
}

func TestTheOverlapCheckSeesCommandsThatRunAtOnce(t *testing.T) {
	_, overlapped := manyAtOnce(t, 40, func(i int) string { return "name" + strconv.Itoa(i) })
	require.True(t, overlapped)
}
