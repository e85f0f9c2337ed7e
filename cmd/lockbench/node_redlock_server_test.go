package main

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// withoutNode says why node-redlock cannot be had here; "" if it can.
var withoutNode = sync.OnceValue(func() string {
	said, _ := exec.Command(binary, words("run --embedded 1 --impl node-redlock --workers 1 --duration 10ms --warmup 0s")...).CombinedOutput()
	if _, why, without := strings.Cut(string(said), "node-redlock needs node and npm"); without {
		return "node-redlock needs node and npm" + why
	}
	return ""
})

// needNode skips the test if node-redlock cannot be had here.
func needNode(t *testing.T) {
	t.Helper()
	if why := withoutNode(); why != "" {
		t.Skip(why)
	}
}

func TestProcessesTakeSetsWithNodeRedlock(t *testing.T) {
	t.Parallel()
	needNode(t)
	stdout, stderr, code := lockbench(t, words("run --embedded 3 --impl node-redlock --op all:4 --keys 9 --procs 2 --workers 2 --duration 1s --warmup 0s -o json")...)
	requireMeasured(t, code, stderr)
	doc := requireFields(t, stdout)
	require.Positive(t, number(t, doc, "totals.acquired"))
	require.Zero(t, number(t, doc, "totals.errors"))
	require.Zero(t, number(t, doc, "safety.overlaps"))
	versions, _ := at(doc, "config.clients.node-redlock.versions")
	require.Equal(t, []any{"redlock 5.0.0-beta.2", "ioredis 5.11.1"}, versions)
}

func TestNodeEndsWithLockbench(t *testing.T) {
	t.Parallel()
	needNode(t)
	args := words("run --local 1 --impl node-redlock --workers 2 --duration 1m --warmup 10ms -o json")
	r := start(t, args...)
	require.Len(t, r.servers, 2, "a server and node")
	r.end(t, os.Interrupt)
	require.Zero(t, number(t, requireFields(t, r.stdout.String()), "totals.errors"), "the signal reaches lockbench alone")

	r = start(t, args...)
	require.Len(t, r.servers, 2)
	require.NoError(t, r.cmd.Process.Kill())
	r.cmd.Wait()
	require.Eventually(t, r.serversGone, 20*time.Second, time.Millisecond)
}

func TestWithoutNodeItsRivalIsAUsageError(t *testing.T) {
	t.Parallel()
	_, stderr, code := lockbenchEnv(t, append(os.Environ(), "PATH=/no/bin"), words("run --embedded 1 --impl node-redlock")...)
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, `node-redlock needs node and npm: exec: "node"`)
}
