package scripts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/draw"
)

// compare runs one random sequence of operations twice: one command at a time in database 0, and
// through the given batch script in database 1. It returns where the answers or the final keys
// differ. Lease times lie so far apart that the time between the two runs does not matter.
func compare(m testMaster, seed uint64, batchSHA string) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	var start [][]string // of keys that are there already
	for i := range 3 {
		start = append(start,
			[]string{"SET", fmt.Sprint("held", i), "another", "PX", "300000"},
			[]string{"SET", fmt.Sprint("forever", i), "t1"},
			[]string{"RPUSH", fmt.Sprint("list", i), "x"})
	}
	for _, db := range []string{"0", "1"} {
		m.text("SELECT", db)
		m.text("FLUSHDB")
		for _, args := range start {
			require.NoError(m.t, m.do(args...).Error())
		}
	}
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	for step := range 20 {
		entries := make([]entry, 1+rng.IntN(30))
		for i := range entries {
			entries[i] = entry{
				name:  fmt.Sprint(pick("mine", "mine", "free", "held", "forever", "list"), rng.IntN(3)),
				token: pick("t1", "t2", "another"),
				how:   pick("110000", "210000", "410000", "0", "-", "-"),
			}
		}
		entries = withoutRepeats(entries)
		for _, db := range []string{"1", "0"} {
			m.text("SELECT", db)
			for i := range 3 {
				_ = m.do("SET", fmt.Sprint("mine", i), "t1", "NX", "PX", "120000")
			}
		}
		var plain strings.Builder
		for _, e := range entries {
			plain.WriteByte(m.one(e))
		}
		m.text("SELECT", "1")
		batch, _, _ := strings.Cut(votesOf(m.text(batchCommand(batchSHA, entries)...), len(entries)), "\n")
		if plain.String() != batch {
			return fmt.Errorf("seed %d step %d: plain %s, batch %s of %q", seed, step, &plain, batch, entries)
		}
	}
	var left [2]string
	for db := range left {
		m.text("SELECT", fmt.Sprint(db))
		keys, err := m.do("KEYS", "*").AsStrSlice()
		require.NoError(m.t, err)
		require.NotEmpty(m.t, keys)
		left[db] = m.state(keys)
	}
	if left[0] != left[1] {
		return fmt.Errorf("seed %d: plain leaves\n%s\nbatch leaves\n%s", seed, left[0], left[1])
	}
	return nil
}

// withoutRepeats leaves each release in once: a run answers yes to both of two that are the same.
func withoutRepeats(entries []entry) (kept []entry) {
	for _, e := range entries {
		if e.how != "-" || !slices.Contains(kept, e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// one asks for an entry with its plain command, and answers as the batch does.
func (m testMaster) one(e entry) byte {
	var reply rueidis.RedisResult
	if e.how == "-" {
		reply = m.do("EVALSHA", Release.SHA1, "1", e.name, e.token)
	} else {
		reply = m.do("EVALSHA", Extend.SHA1, "1", e.name, e.token, e.how)
	}
	switch text, err := reply.ToAny(); {
	case rueidis.IsRedisNil(err), text == int64(0), text == int64(-1):
		return '0'
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE"):
		return '0' // a batch takes a key of another type for another's
	case err != nil:
		return 'e'
	}
	return '1'
}

// state lists the keys with their types, values and rounded times to live.
func (m testMaster) state(keys []string) string {
	lines := make(map[string]string)
	for _, key := range keys {
		kind := m.text("TYPE", key)
		value := ""
		if kind == "string" {
			value = m.text("GET", key)
		}
		ms := m.number("PTTL", key)
		if ms > 0 {
			ms = (ms + 50_000) / 100_000 * 100_000
		}
		lines[key] = fmt.Sprint(kind, " ", value, " ", ms)
	}
	return fmt.Sprint(lines) // sorted by key
}

func TestBatchAndPlainCommandsAgree(t *testing.T) {
	m := newMaster(t)
	seed := draw.Seed(t)
	for i := range uint64(10) {
		require.NoError(t, compare(m, seed+i, Batch.SHA1))
	}
}

func TestComparisonCatchesABrokenBatch(t *testing.T) {
	m := newMaster(t)
	for name, edit := range map[string][2]string{
		"deletes what is another's": {"if values[j - i + 1] == ARGV[j] then keys", "if values[j - i + 1] then keys"},
		"counts what is another's":  {"ours > last - i", "true"},
		"releases nothing":          {"if what == '-' or", "if what == '-' then elseif"},
		"extends what is another's": {"if reply == ARGV[j] then\n        reply = pcall('PTTL'", "if reply then\n        reply = pcall('PTTL'"},
		"shortens":                  {"tonumber(what) > reply", "true"},
		"skips the last extend":     {"for j = i, last do\n      local reply = pcall('GET'", "for j = i, last - 1 do\n      local reply = pcall('GET'"},
	} {
		broken := strings.Replace(Batch.Source, edit[0], edit[1], 1)
		require.NotEqual(t, Batch.Source, broken, name)
		sha := m.text("SCRIPT", "LOAD", broken)
		var err error
		for seed := uint64(1); err == nil && seed <= 20; seed++ {
			err = compare(m, seed, sha)
		}
		require.Error(t, err, name)
	}
}
