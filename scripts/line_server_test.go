package scripts

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

const (
	lineOf    = "__muxlock__:q:a"
	entriesOf = "__muxlock__:w:a"
)

// wait has a token join the line, or, with age "", stay there.
func (m testMaster) wait(token, age string) string {
	m.t.Helper()
	return m.text("EVALSHA", Wait.SHA1, "3", "a", lineOf, entriesOf, token, "7", "50000", "60000", "c", "-", age, "", "90000")
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

func TestNothingKeepsAPassFromDeletingTheKey(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	for _, denied := range []string{"-zrange", "-zrem", "-hget", "-hdel", "-time", "-publish", "-set"} {
		m.text("FLUSHALL")
		m.text("SET", "a", "t0", "PX", "70000")
		m.wait("t1", "0")
		whole := m.without(denied)
		m.pass("t0", "p")
		whole()
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

// Their processes are stopped: their connections hear, and nobody there asks.
func TestWhoHasNotAskedForLongIsPassedOverThoughItHears(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	clock, err := m.do("TIME").AsStrSlice()
	require.NoError(t, err)
	seconds, _ := strconv.Atoi(clock[0])
	m.text("SET", "a", "t0")
	for token, age := range map[string]string{"t1": "90000", "t2": "80000"} {
		m.wait(token, age)
		m.number("HSET", entriesOf, token, "7 "+strconv.Itoa(seconds-40)+"000 30000 50000 c - ")
	}
	m.wait("t3", "0")
	m.number("DEL", "a")
	require.Equal(t, "g\n0\n-\n-", m.wait("t3", ""))
	require.Empty(t, heard)
}

func TestHundredThousandStaleEntriesCostAFewEach(t *testing.T) {
	m := newMaster(t)
	heard := m.hear("c")
	m.number("EVAL", "for i = 1, 100000 do redis.call('ZADD', KEYS[1], i, 'x' .. i) redis.call('HSET', KEYS[2], 'x' .. i, 'nonsense') end return 1", "2", lineOf, entriesOf)
	m.text("SET", "a", "t0", "PX", "70000")
	m.wait("t1", "0")
	require.EqualValues(t, 100_001-8, m.number("ZCARD", lineOf))
	require.EqualValues(t, 2, m.pass("t0", "p", "t1"))
	require.Equal(t, "g\nt1", (<-heard)[:4])
	require.EqualValues(t, 1, m.pass("t1", "p"))
	require.EqualValues(t, 100_000-16, m.number("ZCARD", lineOf))
}
