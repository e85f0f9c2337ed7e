package scripts

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

const (
	lineOf    = "__muxlock__:q:a"
	entriesOf = "__muxlock__:w:a"
)

// A waiter is what differs between requests to wait.
type waiter struct {
	token, channel string
	age            int // milliseconds; below 0: it stays
	told           string
}

func (m testMaster) wait(w waiter, fencing ...string) string {
	m.t.Helper()
	age := ""
	if w.age >= 0 {
		age = strconv.Itoa(w.age)
	}
	tag, keys := "-", []string{"3", "a", lineOf, entriesOf}
	if fencing != nil {
		tag, keys = "tag", []string{"6", "a", lineOf, entriesOf, fencedSet, fencedMark, fencedRegisters}
	}
	args := append([]string{"EVALSHA", Wait.SHA1}, keys...)
	return m.text(append(append(args, w.token, "7", "50000", "60000", w.channel, tag, age, w.told, "90000"), fencing...)...)
}

// pass passes a lock on without fencing.
func (m testMaster) pass(token, how string, named ...string) int64 {
	m.t.Helper()
	named = append(named, "-", "-")
	return m.number("EVALSHA", Pass.SHA1, "3", "a", lineOf, entriesOf, token, how, "word", "-", named[0], named[1])
}

// hear subscribes to a channel and returns its messages.
func (m testMaster) hear(channel string) <-chan string {
	m.t.Helper()
	messages, ready := make(chan string, 100), make(chan struct{})
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{m.address}, ForceSingleClient: true, DisableCache: true})
	require.NoError(m.t, err)
	m.t.Cleanup(client.Close)
	ctx := rueidis.WithOnSubscriptionHook(context.Background(), func(rueidis.PubSubSubscription) { close(ready) })
	go func() {
		_ = client.Receive(ctx, client.B().Subscribe().Channel(channel).Build(), func(s rueidis.PubSubMessage) { messages <- s.Message })
	}()
	<-ready
	return messages
}

func TestFreeNameIsGrantedToTheFirstOfTheLine(t *testing.T) {
	m := newMaster(t)
	require.Equal(t, "g\n0\n-\n-", m.wait(waiter{"t1", "c", 0, ""}))
	m.requireTTL(90_000, "a")
	require.Equal(t, "t1", m.text("GET", "a"))
	require.Equal(t, "m", strings.Fields(m.wait(waiter{"t1", "c", -1, ""}))[0])
	require.False(t, m.exists(lineOf))
	require.False(t, m.exists(entriesOf))
}

func TestTokensStandInLineByTheirAge(t *testing.T) {
	m := newMaster(t)
	m.text("SET", "a", "held", "PX", "70000")
	for i, w := range []waiter{{"t1", "c", 10_000, ""}, {"t2", "c", 0, ""}, {"t3", "c", 50_000, ""}} {
		words := strings.Fields(m.wait(w))
		require.Equal(t, []string{"q", []string{"0", "1", "0"}[i], "held"}, words)
	}
	require.Equal(t, "q\n1", m.wait(waiter{"t1", "c", -1, ""})[:3])
	require.Equal(t, "x", m.wait(waiter{"t4", "c", -1, ""}))
	m.requireTTL(30_000, lineOf)
	m.requireTTL(30_000, entriesOf)
}

func TestPassGivesTheLockToTheNamedOneElseToTheFirst(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.text("SET", "a", "t0", "PX", "70000")
	for i, token := range []string{"t1", "t2", "t3", "t4"} {
		m.wait(waiter{token, "c", 90_000 - 10_000*i, ""})
	}
	require.EqualValues(t, 2, m.pass("t0", "p", "t3"))
	require.Equal(t, "t3", m.text("GET", "a"))
	m.requireTTL(50_000, "a")
	words := strings.Fields(<-heard)
	require.Equal(t, []string{"g", "t3", "7"}, words[:3])
	require.Equal(t, []string{"0", "word", "t1", "t2"}, words[4:])
	require.EqualValues(t, 0, m.pass("t0", "p"), "it is another's")
	require.Equal(t, "t3", m.text("GET", "a"))
	require.EqualValues(t, 2, m.pass("t3", "p", "gone", "too"))
	require.Equal(t, "t1", m.text("GET", "a"))
	require.EqualValues(t, 0, m.pass("t2", "p"), "it leaves the line")
	require.EqualValues(t, 2, m.pass("t1", "p"))
	require.Equal(t, "t4", m.text("GET", "a"))
	require.EqualValues(t, 1, m.pass("t4", "p"))
	require.EqualValues(t, -1, m.pass("t4", "p"))
	require.EqualValues(t, 0, m.number("DBSIZE"))
}

func TestPassTakesALostLockToTheNextToo(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.text("SET", "a", "t0")
	m.wait(waiter{"t1", "c", 0, ""})
	m.number("DEL", "a")
	require.EqualValues(t, -1, m.pass("t0", "p"))
	require.Equal(t, "t1", m.text("GET", "a"))
	require.Equal(t, "g\nt1", (<-heard)[:4])
}

func TestWhoDoesNotHearIsSkippedAndHasNoKey(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.text("SET", "a", "t0")
	for i, w := range []waiter{{"deaf", "nobody", 0, ""}, {"deaf too", "nobody", 0, ""}, {"t1", "c", 0, ""}} {
		w.age = 90_000 - 10_000*i
		m.wait(w)
	}
	require.EqualValues(t, 2, m.pass("t0", "p"))
	require.Equal(t, "t1", m.text("GET", "a"))
	require.Equal(t, "g\nt1", (<-heard)[:4])
	m.wait(waiter{"deaf", "nobody", 0, ""})
	require.EqualValues(t, 1, m.pass("t1", "p"))
	require.EqualValues(t, 0, m.number("DBSIZE"))
	m.text("SET", "a", "t0")
	m.wait(waiter{"deaf", "nobody", 0, ""})
	m.number("DEL", "a")
	require.EqualValues(t, -1, m.pass("t0", "p"))
	require.EqualValues(t, 0, m.number("DBSIZE"), "nor of a lost lock")
}

func TestFreeNameIsShownToTheFirstWhoeverAsks(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.text("SET", "a", "t0")
	m.wait(waiter{"deaf", "nobody", 90_000, ""})
	m.wait(waiter{"t1", "c", 50_000, ""})
	m.number("DEL", "a")
	require.Equal(t, "q\n1\n", m.wait(waiter{"t2", "c", 0, ""}))
	require.Equal(t, "f\nt1", <-heard)
	require.Equal(t, "g\n0\nt1\n-", m.wait(waiter{"t2", "c", -1, "1"}), "it was told to ask")
}

func TestWhoIsOnlyToBeQueuedIsNotGrantedAFreeNameAndWakesNobody(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	require.Equal(t, "q\n0\n", m.wait(waiter{"t1", "c", 50_000, "-"}), "it joins")
	require.Equal(t, "q\n0\n", m.wait(waiter{"t1", "c", -1, "-"}), "it stays")
	require.Equal(t, "q\n1\n", m.wait(waiter{"t2", "c", 0, "-"}))
	require.False(t, m.exists("a"))
	require.Equal(t, "q\n1\n", m.wait(waiter{"t2", "c", -1, "0"}), "it is not its turn")
	require.Equal(t, "f\nt1", <-heard, "of the last request alone")
	require.Empty(t, heard)
	require.Equal(t, "g\n0\nt2\n-", m.wait(waiter{"t1", "c", -1, "0"}))
	require.Equal(t, "m", strings.Fields(m.wait(waiter{"t1", "c", -1, "-"}))[0])
}

func TestPassToNobodyDeletesTheKeyAndLeavesTheLineAsItIs(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.text("SET", "a", "t0", "PX", "70000")
	m.wait(waiter{"t1", "c", 0, ""})
	m.wait(waiter{"t2", "c", 0, ""})
	require.EqualValues(t, 0, m.pass("t2", "n"), "it leaves the line")
	require.EqualValues(t, 1, m.pass("t0", "n", "t1"))
	require.False(t, m.exists("a"))
	require.EqualValues(t, 1, m.number("ZCARD", lineOf))
	require.EqualValues(t, -1, m.pass("t0", "n"))
	require.False(t, m.exists("a"), "nor is a lost lock offered")
	m.text("SET", "a", "another's", "PX", "70000")
	require.EqualValues(t, 0, m.pass("t0", "n"))
	require.Equal(t, "another's", m.text("GET", "a"))
	m.number("PUBLISH", "c", "end")
	require.Equal(t, "end", <-heard)
}

func TestNameLeftOpenWakesTwoAndGrantsNobody(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.text("SET", "a", "t0")
	for i, w := range []waiter{{"t1", "c", 0, ""}, {"deaf", "nobody", 0, ""}, {"t2", "c", 0, ""}, {"t3", "c", 0, ""}} {
		w.age = 90_000 - 10_000*i
		m.wait(w)
	}
	require.EqualValues(t, 2, m.pass("t0", "o"))
	require.False(t, m.exists("a"))
	require.Equal(t, "o\nt1", <-heard)
	require.Equal(t, "o\nt2", <-heard)
	require.EqualValues(t, 3, m.number("ZCARD", lineOf))
	m.number("DEL", lineOf, entriesOf)
	m.text("SET", "a", "t0")
	m.wait(waiter{"deaf", "nobody", 0, ""})
	require.EqualValues(t, 1, m.pass("t0", "o"), "nobody is there")
}

func TestFencedGrantsRaiseTheRegister(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.number("HSET", fencedRegisters, "5", "10")
	pass := func(token, tag, set, proposed string) int64 {
		return m.number("EVALSHA", Pass.SHA1, "6", "a", lineOf, entriesOf, fencedSet, fencedMark, fencedRegisters,
			token, "p", "word", tag, "-", "-", set, "5", proposed)
	}
	join := func(token string) string { return m.wait(waiter{token, "c", 0, ""}, "the set", "5", "0") }
	require.Equal(t, "the mark\ng\n11\n-\n-", join("t0"))
	require.Equal(t, "the mark\nq\n0", join("t1")[:12])
	require.EqualValues(t, 2, pass("t0", "tag", "the set", "20"))
	require.Equal(t, []string{"20", "word", "-", "-", "the", "mark"}, strings.Fields(<-heard)[4:])
	require.Equal(t, "20", m.text("HGET", fencedRegisters, "5"))
	for _, of := range [][2]string{{"another", "the set"}, {"tag", "another set"}} {
		join("t2")
		require.EqualValues(t, 1, pass("t1", of[0], of[1], "0"), "%q: it is of another description", of)
		require.False(t, m.exists("a"))
		require.EqualValues(t, -1, pass("t2", "tag", "the set", "0"))
		require.Equal(t, "the mark\ng", join("t1")[:10])
	}
	m.number("HSET", fencedRegisters, "5", "text")
	join("t2")
	require.EqualValues(t, 1, pass("t1", "tag", "the set", "0"))
	require.False(t, m.exists("a"))
	m.number("HSET", fencedRegisters, "5", "10")
	require.Equal(t, "the mark\ng", join("t1")[:10])
	join("t2")
	m.number("DEL", fencedMark)
	require.EqualValues(t, 1, pass("t1", "tag", "the set", "0"), "it is not admitted")
	require.False(t, m.exists("a"))
	err := m.do("EVALSHA", Wait.SHA1, "6", "a", lineOf, entriesOf, fencedSet, fencedMark, fencedRegisters,
		"t3", "7", "50000", "60000", "c", "tag", "0", "", "90000", "the set", "5", "0").Error()
	require.ErrorContains(t, err, "MUXLOCKSET")
}

func TestNothingKeepsAPassFromDeletingTheKey(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	for _, denied := range []string{"-zrange", "-zrem", "-hget", "-hdel", "-time", "-publish", "-set"} {
		m.text("FLUSHALL")
		m.text("SET", "a", "t0", "PX", "70000")
		m.wait(waiter{"t1", "c", 0, ""})
		m.text("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all", denied)
		m.text("AUTH", "limited", "any")
		m.pass("t0", "p")
		m.text("AUTH", "default", "")
		value, _ := m.do("GET", "a").ToString()
		require.NotEqual(t, "t0", value, denied)
		m.number("PUBLISH", "c", "end")
		if message := <-heard; message != "end" {
			require.Equal(t, "t1", value, "%s: what was heard is so", denied)
			require.Equal(t, "g\nt1", message[:4])
			<-heard
		}
	}
	for _, key := range []string{lineOf, entriesOf} {
		m.text("FLUSHALL")
		m.text("SET", "a", "t0", "PX", "70000")
		m.text("SET", key, "nonsense")
		require.ErrorContains(t, m.do("EVALSHA", Wait.SHA1, "3", "a", lineOf, entriesOf, "t1", "7", "5", "6", "c", "-", "0", "", "9").Error(), "WRONGTYPE")
		require.EqualValues(t, 1, m.pass("t0", "p"))
		require.False(t, m.exists("a"))
	}
}

func TestOnlyFreshEntriesAreGranted(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	clock, err := m.do("TIME").AsStrSlice()
	require.NoError(t, err)
	seconds, _ := strconv.Atoi(clock[0])
	later, before, long := strconv.Itoa(seconds+30)+"000", strconv.Itoa(seconds-20)+"000", strconv.Itoa(seconds-40)+"000"
	for _, entry := range []string{"", "nonsense", "7 1 60000 50000 c - ", "7 " + later + " 60000 50000 c - ", "7 " + long + " 60000 50000 c - ", "7 -1 60000 50000 c - "} {
		m.text("SET", "a", "t0", "PX", "70000")
		m.wait(waiter{"t1", "c", 0, ""})
		m.number("HSET", entriesOf, "t1", entry)
		require.EqualValues(t, 1, m.pass("t0", "p"), entry)
		require.False(t, m.exists("a"))
	}
	m.text("SET", "a", "t0", "PX", "70000")
	m.wait(waiter{"t1", "c", 0, ""})
	m.number("HSET", entriesOf, "t1", "7 "+before+" 60000 50000 c - ")
	require.EqualValues(t, 2, m.pass("t0", "p"))
	m.requireTTL(50_000, "a")
	require.Equal(t, "50000", strings.Fields(<-heard)[3], "whatever the age of the entry")
}

// Their processes are stopped: their connections hear, and nobody there asks.
func TestWhoHasNotAskedForLongIsPassedOverThoughItHears(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	clock, err := m.do("TIME").AsStrSlice()
	require.NoError(t, err)
	seconds, _ := strconv.Atoi(clock[0])
	m.text("SET", "a", "t0")
	for i, token := range []string{"t1", "t2"} {
		m.wait(waiter{token, "c", 90_000 - 10_000*i, ""})
		m.number("HSET", entriesOf, token, "7 "+strconv.Itoa(seconds-40)+"000 30000 50000 c - ")
	}
	m.wait(waiter{"t3", "c", 0, ""})
	m.number("DEL", "a")
	require.Equal(t, "g\n0\n-\n-", m.wait(waiter{"t3", "c", -1, ""}))
	require.Empty(t, heard)
}

func TestHundredThousandStaleEntriesCostAFewEach(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.number("EVAL", "for i = 1, 100000 do redis.call('ZADD', KEYS[1], i, 'x' .. i) redis.call('HSET', KEYS[2], 'x' .. i, 'nonsense') end return 1", "2", lineOf, entriesOf)
	m.text("SET", "a", "t0", "PX", "70000")
	m.wait(waiter{"t1", "c", 0, ""})
	require.EqualValues(t, 100_001-8, m.number("ZCARD", lineOf))
	require.EqualValues(t, 2, m.pass("t0", "p", "t1"))
	require.Equal(t, "g\nt1", (<-heard)[:4])
	require.EqualValues(t, 1, m.pass("t1", "p"))
	require.EqualValues(t, 100_000-16, m.number("ZCARD", lineOf))
}
