package redisserver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// alive reports whether a process runs. A zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func TestServerDiesWithItsKilledParent(t *testing.T) {
	needServer(t)
	parent := exec.Command(os.Args[0])
	dir := t.TempDir()
	parent.Env = append(os.Environ(), parentEnv+"="+dir)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid := strings.TrimSpace(line)
	number, err := strconv.Atoi(pid)
	require.NoError(t, err, line)
	t.Cleanup(func() {
		if alive(pid) {
			unix.Kill(number, unix.SIGKILL)
		}
	})
	require.True(t, alive(pid), "the check sees a living server")

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Eventually(t, func() bool { return !alive(pid) }, 20*time.Second, time.Millisecond)
	requireEmpty(t, dir)
}

// Goroutines that exit locked make the runtime end their threads; none of these may be the one that forked the server.
func TestServerOutlivesTheThreadsOfOthers(t *testing.T) {
	s := startOne(t, Options{})
	const count = 50 // more goroutines than idle threads, so that each idle thread gets one
	threads := make(chan int, count)
	end := make(chan struct{})
	for range count {
		go func() {
			runtime.LockOSThread()
			threads <- unix.Gettid()
			<-end
		}()
	}
	var ended []int
	for range count {
		if tid := <-threads; tid != os.Getpid() { // the first thread never ends
			ended = append(ended, tid)
		}
	}
	close(end)
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(ended, func(tid int) bool { return alive(fmt.Sprintf("self/task/%d", tid)) })
	}, 20*time.Second, time.Millisecond, "the threads end")
	require.True(t, answers(t, s))
}

func TestServerHasAProcessGroupOfItsOwn(t *testing.T) {
	s := startOne(t, Options{})
	group, err := unix.Getpgid(s.PID())
	require.NoError(t, err)
	require.Equal(t, s.PID(), group)
}
