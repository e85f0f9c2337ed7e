package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// lock starts muxlock lock and waits until it has the lock. Its standard input ends when in is closed.
func (s *set) lock(t *testing.T, args ...string) (j *job, in io.Closer) {
	t.Helper()
	c := exec.Command(redistest.Program(t), append([]string{"lock"}, args...)...)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	t.Cleanup(func() { w.Close() })
	c.Stdin = r
	j = s.launch(t, c)
	j.out.await(t, "locked name\n")
	return j, w
}

func TestLockHoldsUntilItsStandardInputEnds(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, in := s.lock(t, "name")
	require.Regexp(t, "lock is taken by .* lock\n", s.says(t, exitTaken, "lock --try name"), "what the other one is, too")
	require.NoError(t, in.Close())
	j.ends(t, 0)
	require.Empty(t, redistest.Keys(t, s.masters...))
	require.Equal(t, "locked name\n", j.out.String())
	require.Empty(t, j.log.String())
}

// So ends a connection whose other end was killed, or the pair of sockets that some languages use for pipes.
func TestLockEndsWithAStandardInputThatIsReset(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	in, err := server.(*net.TCPConn).File()
	require.NoError(t, err)
	c := exec.Command(redistest.Program(t), "lock", "name")
	c.Stdin = in
	j := s.launch(t, c)
	require.NoError(t, in.Close())
	require.NoError(t, server.Close())
	j.out.await(t, "locked name\n")
	require.NoError(t, client.(*net.TCPConn).SetLinger(0))
	require.NoError(t, client.Close())
	j.ends(t, 0)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestASignalEndsLockAndReleases(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		j, _ := s.lock(t, "name")
		j.ends(t, 0, sig)
		require.Empty(t, redistest.Keys(t, s.masters...))
	}
}

func TestLockSaysThatItIsLost(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j, _ := s.lock(t, "--ttl", "6s", "name")
	for _, m := range s.masters[:2] {
		redistest.Command(t, m, "DEL", "name")
	}
	j.ends(t, exitLost)
	require.Regexp(t, "^locked name\nlost name: .+\n$", j.out.String())
	require.Empty(t, j.log.String())
}

// The script is the example of the help.
func TestAScriptWorksUnderLock(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	script := exec.Command("sh", "-c", `set -e; mkfifo in out; "$0" lock name <in >out & exec 3>in; read -r locked <out && echo "$locked"; "$0" status name; exec 3>&-; wait $!`, redistest.Program(t))
	script.Dir, script.Env = t.TempDir(), cleanEnv(s.env...)
	out, err := script.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "locked name\nname is held on 3 of 3 masters by ")
	require.Empty(t, redistest.Keys(t, s.masters...))
}
