package scripts

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// A testMaster is a connection to a real server on which all scripts are loaded.
type testMaster struct {
	t       testing.TB
	address string
	rueidis.Client
}

func newMaster(t testing.TB) testMaster {
	t.Helper()
	server := redistest.Masters(t, 1)[0]
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysRESP2: true,
		ConnWriteTimeout: time.Minute, // of an answer, too: a large script takes long on a busy machine
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	m := testMaster{t, server.Addr(), client}
	for _, s := range every() {
		m.text("SCRIPT", "LOAD", s.Source)
	}
	return m
}

func (m testMaster) do(args ...string) rueidis.RedisResult {
	return m.Do(context.Background(), m.B().Arbitrary(args[0]).Args(args[1:]...).Build())
}

func (m testMaster) text(args ...string) string {
	m.t.Helper()
	text, err := m.do(args...).ToString()
	require.NoError(m.t, err, "%q", args)
	return text
}

func (m testMaster) number(args ...string) int64 {
	m.t.Helper()
	n, err := m.do(args...).AsInt64()
	require.NoError(m.t, err, "%q", args)
	return n
}

func (m testMaster) release(name, token string) int64 {
	m.t.Helper()
	return m.number("EVALSHA", Release.SHA1, "1", name, token)
}

func (m testMaster) extend(name, token, ms string) int64 {
	m.t.Helper()
	return m.number("EVALSHA", Extend.SHA1, "1", name, token, ms)
}

// An entry of a batch; how is 'ms' extend to that lease, '-' release, '&ms' take as one of a set. What follows a '#' tells
// sets with one lease apart.
type entry struct{ name, token, how string }

// The keys of fencing.
const (
	fencedSet       = "__muxlock__:set"
	fencedMark      = "__muxlock__:admitted"
	fencedRegisters = "__muxlock__:registers"
)

// fencedCommand encodes entries of one kind as the scripts of fencing take them: the place of
// an entry is its register.
func fencedCommand(sha string, entries []entry) []string {
	var names, tokens, registers, fences []string
	for i, e := range entries {
		names, tokens = append(names, e.name), append(tokens, e.token)
		registers, fences = append(registers, strconv.Itoa(i)), append(fences, "1000000")
	}
	args := append([]string{"EVALSHA", sha, strconv.Itoa(len(entries) + 3), fencedSet, fencedMark, fencedRegisters}, names...)
	return slices.Concat(args, []string{"the set"}, tokens, registers, fences, runsOf(entries))
}

// batchCommand encodes entries as batch.lua takes them: in runs that are alike.
func batchCommand(sha string, entries []entry) []string {
	var names, tokens []string
	for _, e := range entries {
		names, tokens = append(names, e.name), append(tokens, e.token)
	}
	return slices.Concat([]string{"EVALSHA", sha, strconv.Itoa(len(entries))}, names, tokens, runsOf(entries))
}

// runsOf returns the runs of entries that are alike.
func runsOf(entries []entry) (runs []string) {
	for i, e := range entries {
		if i > 0 && entries[i-1].how == e.how {
			last := len(runs) - 1
			count, _ := strconv.Atoi(runs[last])
			runs[last] = strconv.Itoa(count + 1)
			continue
		}
		how, _, _ := strings.Cut(e.how, "#")
		runs = append(runs, how, "1")
	}
	return runs
}

// votesOf spells out the short answer of a batch of n entries.
func votesOf(answer string, n int) string {
	if answer == "" {
		return strings.Repeat("1", n)
	}
	return answer
}

func (m testMaster) batch(entries ...entry) string {
	m.t.Helper()
	return votesOf(m.text(batchCommand(Batch.SHA1, entries)...), len(entries))
}

// hold sets the entries' keys to their tokens.
func (m testMaster) hold(entries ...entry) {
	m.t.Helper()
	for _, e := range entries {
		m.text("SET", e.name, e.token, "PX", "50000")
	}
}

func (m testMaster) exists(name string) bool {
	m.t.Helper()
	return m.number("EXISTS", name) == 1
}

// requireTTL asserts that name lives for about ms more.
func (m testMaster) requireTTL(ms int64, name string) {
	m.t.Helper()
	require.InDelta(m.t, ms, m.number("PTTL", name), 5_000, "ttl of %q", name)
}

// without has the connection's user lack rights until the returned function is called.
func (m testMaster) without(rights ...string) (whole func()) {
	m.t.Helper()
	m.text(append([]string{"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all"}, rights...)...)
	m.text("AUTH", "limited", "any")
	return func() { m.text("AUTH", "default", "") }
}

// member makes the master an admitted member whose first two registers have these values.
func (m testMaster) member(first, second string) {
	m.t.Helper()
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	m.number("HSET", fencedRegisters, "0", first, "1", second)
}
