package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

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

func TestServerComputesTheSameSHA1(t *testing.T) {
	m := newMaster(t)
	for _, s := range every() {
		require.Equal(t, s.SHA1, m.text("SCRIPT", "LOAD", s.Source), s.Name)
	}
}

func TestReleaseDeletesOnlyItsOwn(t *testing.T) {
	m := newMaster(t)
	for _, name := range oddNames {
		for _, token := range oddNames {
			require.EqualValues(t, -1, m.release(name, token), "gone")
			m.text("SET", name, token, "PX", "100000")
			require.EqualValues(t, 0, m.release(name, token+"x"), "another's")
			require.EqualValues(t, 0, m.release(name, ""), "another's")
			require.Equal(t, token, m.text("GET", name))
			require.EqualValues(t, 1, m.release(name, token), "deleted")
			require.False(t, m.exists(name))
		}
	}
}

func TestReleaseOfAnotherTypeIsAnErrorAndDeletesNothing(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "a")
	require.ErrorContains(t, m.do("EVALSHA", Release.SHA1, "1", "list", "a").Error(), "WRONGTYPE")
	require.ErrorContains(t, m.do("EVALSHA", Extend.SHA1, "1", "list", "a", "1000").Error(), "WRONGTYPE")
	require.True(t, m.exists("list"))
}

func TestExtendMovesTheExpiryOfItsOwnOnly(t *testing.T) {
	m := newMaster(t)
	for _, name := range oddNames {
		for _, token := range oddNames {
			require.EqualValues(t, -1, m.extend(name, token, "100000"), "gone")
			require.False(t, m.exists(name), "created")
			m.text("SET", name, token, "PX", "100000")
			require.EqualValues(t, 0, m.extend(name, token+"x", "500000"), "another's")
			m.requireTTL(100_000, name)
			require.EqualValues(t, 1, m.extend(name, token, "500000"))
			m.requireTTL(500_000, name)
			require.Equal(t, token, m.text("GET", name))
			m.number("DEL", name)
		}
	}
}

func TestExtendNeverShortens(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "a", "t", "PX", "500000")
	require.EqualValues(t, 1, m.extend("a", "t", "100000"))
	m.requireTTL(500_000, "a")
	require.Equal(t, "1", m.batch(entry{"a", "t", "100000"}))
	m.requireTTL(500_000, "a")
}

func TestExtendGivesAPersistedKeyItsTTL(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "plain", "t")
	require.EqualValues(t, 1, m.extend("plain", "t", "100000"))
	m.requireTTL(100_000, "plain")
	m.text("SET", "batched", "t")
	require.Equal(t, "1", m.batch(entry{"batched", "t", "100000"}))
	m.requireTTL(100_000, "batched")
}

func TestTTLsAreComparedAsNumbers(t *testing.T) {
	m := newMaster(t)
	for _, extend := range []func(){
		func() { require.EqualValues(t, 1, m.extend("a", "t", "100000")) },
		func() { require.Equal(t, "1", m.batch(entry{"a", "t", "100000"})) },
	} {
		m.text("SET", "a", "t", "PX", "90000") // "90000" > "100000" as text
		extend()
		m.requireTTL(100_000, "a")
	}
}

func TestRaiseNeverLowersARegister(t *testing.T) {
	m := newMaster(t)
	raise := func(set string, pairs ...string) int64 {
		return m.number(append([]string{"EVALSHA", Raise.SHA1, "2", fencedSet, fencedRegisters, set}, pairs...)...)
	}
	m.text("SET", fencedSet, "the set")
	m.number("HSET", fencedRegisters, "1", "10", "2", "30", "3", "text")
	require.EqualValues(t, 0, raise("another set", "1", "20"))
	require.Equal(t, "10", m.text("HGET", fencedRegisters, "1"))
	require.EqualValues(t, 1, raise("the set", "0", "20", "1", "20", "2", "20", "3", "20"))
	for register, value := range map[string]string{"1": "20", "2": "30", "3": "text"} {
		require.Equal(t, value, m.text("HGET", fencedRegisters, register), register)
	}
	require.Zero(t, m.number("HEXISTS", fencedRegisters, "0"), "one that is missing was lost, and may have been larger")
}

func TestSeedNeverLowersARegister(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "ticket", "the ticket")
	m.number("HSET", fencedRegisters, "0", "4", "1", "5", "2", "6")
	require.EqualValues(t, 1, m.number("EVALSHA", Seed.SHA1, "5", fencedSet, fencedMark, "ticket", "since", fencedRegisters, "the set", "the ticket", "", "5", "5", "5"))
	for register, value := range map[string]string{"0": "5", "1": "5", "2": "6"} {
		require.Equal(t, value, m.text("HGET", fencedRegisters, register), register)
	}
}

func TestFencedExtendNeverLowersARegister(t *testing.T) {
	m := newMaster(t)
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.text("SET", "held", "t", "PX", "100000")
	for value, want := range map[string]string{"999999": "1000000", "1000000": "1000000", "1000001": "1000001"} { // the token is 1000000
		m.number("HSET", fencedRegisters, "0", value)
		require.Equal(t, "the mark\n1", m.text(fencedCommand(FencedExtend.SHA1, []entry{{"held", "t", "100000"}})...))
		require.Equal(t, want, m.text("HGET", fencedRegisters, "0"))
	}
}

func TestFencedExtendIsConfirmedByAnAdmittedMemberOfTheSetAlone(t *testing.T) {
	m := newMaster(t)
	extend := fencedCommand(FencedExtend.SHA1, []entry{{"held", "t", "100000"}})
	for _, keys := range [][2]string{{"", ""}, {"the set", ""}, {"another set", "the mark"}, {"", "the mark"}} {
		m.text("FLUSHALL")
		m.text("SET", "held", "t", "PX", "50000")
		m.number("HSET", fencedRegisters, "0", "5")
		for i, key := range []string{fencedSet, fencedMark} {
			if keys[i] != "" {
				m.text("SET", key, keys[i])
			}
		}
		reply := m.text(extend...)
		require.True(t, strings.HasPrefix(reply, keys[1]+"\ne\nMUXLOCKSET "), "%q: %q", keys, reply)
		require.Equal(t, "5", m.text("HGET", fencedRegisters, "0"))
		m.requireTTL(50000, "held")
	}
}

func TestRegisterThatHoldsNoTokenIsNeitherUsedNorKept(t *testing.T) {
	m := newMaster(t)
	const ticket, maxToken = "the ticket", "137438953471"
	for _, value := range []string{"", "text", "-1", "1.5", "7.5", "nan", "1e30", "137438953472", maxToken} {
		m.text("FLUSHALL")
		m.text("SET", fencedSet, "the set")
		m.text("SET", fencedMark, "the mark")
		m.text("SET", "held", "t", "PX", "100000")
		if m.number("HSET", fencedRegisters, "1", "1"); value != "" {
			m.number("HSET", fencedRegisters, "0", value)
		}
		registers := m.text("EVALSHA", ReadRegisters.SHA1, "3", fencedSet, fencedMark, fencedRegisters, "the set", "the mark")
		reply := m.text(fencedCommand(FencedAcquire.SHA1, []entry{{"a", "t", "100000"}})...)
		require.True(t, strings.HasPrefix(reply, "the mark\ne\nMUXLOCKREGISTER register 0 "), "%q: %q", value, reply)
		require.False(t, m.exists("a"), value)
		if value == maxToken { // it can be held, and no larger one granted
			continue
		}
		reply = m.text(fencedCommand(FencedExtend.SHA1, []entry{{"held", "t", "500000"}})...)
		require.True(t, strings.HasPrefix(reply, "the mark\ne\nMUXLOCKREGISTER register 0 "), "%q: %q", value, reply)
		m.requireTTL(100_000, "held")
		require.Equal(t, registers, m.text("EVALSHA", ReadRegisters.SHA1, "3", fencedSet, fencedMark, fencedRegisters, "the set", "the mark"))
		m.text("SET", "ticket", ticket)
		require.EqualValues(t, 1, m.number("EVALSHA", Seed.SHA1, "5", fencedSet, fencedMark, "ticket", "since", fencedRegisters, "the set", ticket, "the set", "5", "5"))
		require.Equal(t, "5", m.text("HGET", fencedRegisters, "0"), "%q was replaced", value)
		require.Equal(t, "5", m.text("HGET", fencedRegisters, "1"))
	}
}

func TestInspectReturnsTheValueAndItsTimeAndChangesNothing(t *testing.T) {
	m := newMaster(t)
	inspect := func(name string) (string, error) {
		return m.do("EVALSHA", Inspect.SHA1, "3", name, "line of "+name, "fenced line of "+name, longest).ToString()
	}
	for _, name := range oddNames {
		got, err := inspect(name)
		require.NoError(t, err)
		require.Equal(t, "0\n\n-2\n0\n", got)
		m.number("ZADD", "line of "+name, "2", "second", "1", "fi\nrst")
		m.number("ZADD", "fenced line of "+name, "1", "third")
		for _, token := range oddNames {
			m.text("SET", name, token)
			got, err := inspect(name)
			require.NoError(t, err)
			require.Equal(t, "3\nfi\n-1\n0\n"+token, got)
		}
		begun := time.Now()
		m.number("PEXPIRE", name, "500000")
		before := m.state([]string{name})
		got, _ = inspect(name)
		left := strings.Split(got, "\n")[2]
		ms, err := strconv.Atoi(left)
		require.NoError(t, err, got)
		require.LessOrEqual(t, ms, 500_000)
		require.GreaterOrEqual(t, ms, 500_000-int(time.Since(begun).Milliseconds())-1)
		require.Equal(t, before, m.state([]string{name}))
		m.number("DEL", name)
	}
}

func TestInspectReadsNothingOutThatIsNoLock(t *testing.T) {
	m := newMaster(t)
	m.number("RPUSH", "list", "x")
	m.text("SET", "long", strings.Repeat("x", limits.ValueBytes+1))
	m.text("SET", "empty", "")
	m.text("SET", "just", strings.Repeat("x", limits.ValueBytes))
	for name, class := range map[string]string{"list": "WRONGTYPE ", "long": "MUXLOCKVALUE a string of 513 bytes", "empty": "MUXLOCKVALUE a string of 0 bytes"} {
		err := m.do("EVALSHA", Inspect.SHA1, "3", name, "line of "+name, "fenced line of "+name, longest).Error()
		require.Error(t, err)
		require.True(t, strings.HasPrefix(err.Error(), class), err)
	}
	require.Len(t, m.text("EVALSHA", Inspect.SHA1, "3", "just", "no line", "no line", longest), len("0\n\n-1\n0\n")+limits.ValueBytes)
}
