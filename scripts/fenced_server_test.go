package scripts

import (
	"bufio"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// commandsOf returns the commands that a script calls, as the server executes them.
func (m testMaster) commandsOf(call ...string) (commands []string) {
	m.t.Helper()
	conn, err := net.Dial("tcp", m.address)
	require.NoError(m.t, err)
	defer conn.Close()
	require.NoError(m.t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(m.t, err)
	lines := bufio.NewScanner(conn)
	require.True(m.t, lines.Scan())
	require.Equal(m.t, "+OK", lines.Text())
	m.text(call...)
	m.text("ECHO", "the end")
	command := regexp.MustCompile(`\[\d+ ([^]]+)\] "([A-Z]+)"`)
	for lines.Scan() {
		switch found := command.FindStringSubmatch(lines.Text()); {
		case found == nil:
		case found[2] == "ECHO":
			return commands
		case found[1] == "lua":
			commands = append(commands, found[2])
		}
	}
	require.NoError(m.t, lines.Err())
	require.Fail(m.t, "MONITOR has ended")
	return nil
}

// If the server's process ends in the middle, its log has the first half: a token that nobody got.
// The other way round the log would have a lock, and its token would be granted again.
func TestRegistersAreWrittenBeforeTheLocks(t *testing.T) {
	m := newMaster(t)
	m.member("1", "2000000")
	acquire := fencedCommand(FencedAcquire.SHA1, []entry{{"a", "t", "100000"}, {"b", "t", "100000"}})
	require.Equal(t, []string{"MGET", "HMGET", "HSET", "MSETNX", "PEXPIRE", "PEXPIRE"}, m.commandsOf(acquire...))
	m.number("DEL", "a", "b")
	if m.do("MSETEX", "1", "x", "y").Error() == nil {
		require.Equal(t, []string{"MGET", "HMGET", "HSET", "MSETEX"}, m.commandsOf(append(acquire, "msetex")...))
		m.number("DEL", "a", "b")
	}
	m.text("SET", "a", "t", "PX", "1000")
	m.number("HSET", fencedRegisters, "0", "1")
	extend := fencedCommand(FencedExtend.SHA1, []entry{{"a", "t", "100000"}})
	require.Equal(t, []string{"GET", "GET", "GET", "HGET", "HSET", "PTTL", "PEXPIRE"}, m.commandsOf(extend...), "and before a lease")
}

// A lock without an end would never be free again.
func TestLockWithoutAnEndIsNotLeft(t *testing.T) {
	m := newMaster(t)
	m.member("1", "1")
	whole := m.without("-pexpire")
	require.Equal(t, "the mark\n", m.text(fencedCommand(FencedAcquire.SHA1, []entry{{"a", "t", "100000"}, {"b", "t", "100000"}})...))
	whole()
	m.requireTTL(100_000, "a")
	m.requireTTL(100_000, "b")
}
