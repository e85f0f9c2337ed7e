package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
)

// every is all scripts that there are.
func every() []Script { return append(All(true), Wait, Pass, Inspect) }

// isName reports whether the constant is the name under which the source can be called.
func isName(s Script) bool {
	sum := sha1.Sum([]byte(s.Source))
	return s.SHA1 == hex.EncodeToString(sum[:])
}

func TestSHA1IsThatOfTheText(t *testing.T) {
	require.Len(t, All(false), 4)
	for _, s := range every() {
		require.True(t, isName(s), s.Name)
		s.Source += " "
		require.False(t, isName(s), "an edit of %s without its constant goes unnoticed", s.Name)
	}
}

// What the other scripts do is compared with a fake in internal/redisfake, which has no lines beside locks.
func (m testMaster) inspect(name string) rueidis.RedisResult {
	return m.do("EVALSHA", Inspect.SHA1, "3", name, "line of "+name, "fenced line of "+name, strconv.Itoa(limits.ValueBytes))
}

func TestInspectShowsTheValueItsTimeTheLineAndReaders(t *testing.T) {
	m := newMaster(t)
	m.number("ZADD", "line of a", "2", "second", "1", "fi\nrst")
	m.number("ZADD", "fenced line of a", "1", "third")
	m.text("SET", "a", "to\nken\x00")
	require.Equal(t, "111", m.shared(entry{"b", of("long"), "90000"}, entry{"b", of("short"), "50000"}, entry{"b", of("gone"), "1"}))
	time.Sleep(3 * time.Millisecond) // until it has run out
	for range 2 {                    // it changes nothing
		got, err := m.inspect("a").ToString()
		require.NoError(t, err)
		require.Equal(t, "3\nfi\n-1\n0\nto\nken\x00", got)
		got, err = m.inspect("b").ToString()
		require.NoError(t, err)
		words := strings.Split(got, "\n")
		require.Equal(t, []string{"0", ""}, words[:2])
		require.Equal(t, []string{"2", of("short"), of("long")}, words[3:])
		ms, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		require.InDelta(t, 90_000, ms, 5_000)
	}
}

func TestInspectReadsNothingOutThatIsNoLock(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "x")
	m.text("SET", "long", strings.Repeat("x", limits.ValueBytes+1))
	m.text("SET", "empty", "")
	m.text("SET", "just", strings.Repeat("x", limits.ValueBytes))
	for name, class := range map[string]string{"list": "WRONGTYPE ", "long": "MUXLOCKVALUE a string of 513 bytes", "empty": "MUXLOCKVALUE a string of 0 bytes"} {
		err := m.inspect(name).Error()
		require.Error(t, err)
		require.True(t, strings.HasPrefix(err.Error(), class), err)
	}
	require.NoError(t, m.inspect("just").Error())
}
