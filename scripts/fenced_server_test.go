package scripts

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fencedOnce acquires random names with fencing, in one call, and returns the answer and what
// is left. Some are held or of another type, and some registers hold no token.
func fencedOnce(m testMaster, seed uint64, script string, more ...string) string {
	rng := rand.New(rand.NewPCG(seed, 0))
	m.text("FLUSHALL")
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	var entries []entry
	keys := []string{fencedRegisters}
	for i := range 2 + rng.IntN(40) {
		name := fmt.Sprint("name", i)
		switch rng.IntN(20) {
		case 0:
			m.text("SET", name, "another", "PX", "500000")
		case 1:
			m.number("RPUSH", name, "x")
		case 2:
			m.number("HSET", fencedRegisters, fmt.Sprint(i), "text")
		case 3:
			m.number("HSET", fencedRegisters, fmt.Sprint(i), "7000000")
		}
		entries, keys = append(entries, entry{name, fmt.Sprint("token", i), "300000"}), append(keys, name)
	}
	reply := m.text(append(fencedCommand(script, entries), more...)...)
	registers, err := m.do("HGETALL", fencedRegisters).AsStrMap()
	require.NoError(m.t, err)
	return fmt.Sprint(reply, "\n", registers, "\n", m.state(keys[1:]))
}

// If the server has no MSETEX, the test shows that the script goes on without.
func TestFencedAcquireIsTheSameWithMSETEX(t *testing.T) {
	m := newMaster(t)
	if m.do("MSETEX", "1", "a", "b").Error() != nil {
		t.Log("the server has no MSETEX")
	}
	for seed := range uint64(100) {
		require.Equal(t, fencedOnce(m, seed, FencedAcquire.SHA1), fencedOnce(m, seed, FencedAcquire.SHA1, "msetex"), "seed %d", seed)
	}
}

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
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.number("HSET", fencedRegisters, "0", "1", "1", "2000000")
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
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.number("HSET", fencedRegisters, "0", "1", "1", "1")
	m.text("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", "-pexpire")
	m.text("AUTH", "limited", "any")
	require.Equal(t, "the mark\n", m.text(fencedCommand(FencedAcquire.SHA1, []entry{{"a", "t", "100000"}, {"b", "t", "100000"}})...))
	m.text("AUTH", "default", "")
	m.requireTTL(100_000, "a")
	m.requireTTL(100_000, "b")
}
