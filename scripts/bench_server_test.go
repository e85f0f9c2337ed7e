package scripts

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkScript measures what an entry costs the server: its own CPU time for
// EVALSHA, from INFO commandstats, as server-ns/entry. ns/op is the client's view
// of one command. Each release and extend finds its key.
//
//	go test -bench Script ./scripts
func BenchmarkScript(b *testing.B) {
	const lease = "1000000"
	entries := func(n int, how string) []entry {
		list := make([]entry, n)
		for i := range list {
			list[i] = entry{fmt.Sprint("name", i), "0123456789abcdefghijklm=", how}
		}
		return list
	}
	one := entries(1, "")[0]
	type benchmark struct {
		name    string
		entries int
		before  []string // each time, not measured
		timed   []string
	}
	cases := []benchmark{
		{"script=none/command=SET", 1, []string{"DEL", one.name}, []string{"SET", one.name, one.token, "NX", "PX", lease}}, // to compare with
		{"script=release", 1, []string{"SET", one.name, one.token, "PX", lease}, []string{"EVALSHA", Release.SHA1, "1", one.name, one.token}},
		{"script=extend", 1, []string{"SET", one.name, one.token, "PX", "500000"}, []string{"EVALSHA", Extend.SHA1, "1", one.name, one.token, lease}},
	}
	for _, n := range []int{1, 8, 32, 512} {
		all := []string{"MSET"}
		for _, e := range entries(n, "") {
			all = append(all, e.name, e.token)
		}
		gone := []string{"EVAL", "redis.call('DEL', unpack(KEYS)) for r = 0, #KEYS do redis.call('HSET', ARGV[1], r, 1) end return 1", strconv.Itoa(n)}
		for _, e := range entries(n, "") {
			gone = append(gone, e.name)
		}
		cases = append(cases,
			benchmark{fmt.Sprintf("script=fenced acquire/entries=%d", n), n, append(gone, fencedRegisters), fencedCommand(FencedAcquire.SHA1, entries(n, lease))},
			benchmark{fmt.Sprintf("script=batch of releases/entries=%d", n), n, all, batchCommand(Batch.SHA1, entries(n, "-"))},
			benchmark{fmt.Sprintf("script=batch of extends/entries=%d", n), n, all, batchCommand(Batch.SHA1, entries(n, lease))})
	}
	m := newMaster(b)
	m.hear("c")
	for _, n := range []int{1, 20, 500} {
		script := []string{"EVAL", "redis.call('DEL', unpack(KEYS)) for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], i, 't' .. i) redis.call('HSET', KEYS[2], 't' .. i, string.format('7 %.0f 60000 50000 c -', redis.call('TIME')[1] * 1000 - 1000) .. string.rep(' ', 60)) end redis.call('SET', KEYS[3], 't0') return 1", "3", lineOf, entriesOf, one.name, strconv.Itoa(n)}
		keys := []string{"3", one.name, lineOf, entriesOf}
		cases = append(cases,
			benchmark{fmt.Sprintf("script=wait/entries=%d", n), 1, script, slices.Concat([]string{"EVALSHA", Wait.SHA1}, keys, []string{"joins", "7", "50000", "60000", "c", "-", "0", "", lease})},
			benchmark{fmt.Sprintf("script=pass/entries=%d", n), 1, script, slices.Concat([]string{"EVALSHA", Pass.SHA1}, keys, []string{"t0", "p", "word", "-", "t1", "-"})})
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			m.text("FLUSHALL")
			m.text("SET", fencedSet, "the set")
			m.text("SET", fencedMark, "a nonce of 24 characters 0123456789012345678901234567890123456789 127.0.0.1:7001")
			registers := []string{"HSET", fencedRegisters}
			for i := range 4096 {
				registers = append(registers, strconv.Itoa(i), "0")
			}
			m.number(registers...)
			m.text("CONFIG", "RESETSTAT")
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				require.NoError(b, m.do(c.before...).Error())
				b.StartTimer()
				require.NoError(b, m.do(c.timed...).Error())
			}
			b.ReportMetric(m.usecPerCall(strings.ToLower(c.timed[0]))*1000/float64(c.entries), "server-ns/entry")
		})
	}
}

var usecField = regexp.MustCompile(`usec_per_call=([0-9.]+)`)

// usecPerCall reads the server's own CPU time per call of a command.
func (m testMaster) usecPerCall(command string) float64 {
	m.t.Helper()
	for line := range strings.Lines(m.text("INFO", "commandstats")) {
		if strings.HasPrefix(line, "cmdstat_"+command+":") {
			usec, err := strconv.ParseFloat(usecField.FindStringSubmatch(line)[1], 64)
			require.NoError(m.t, err)
			return usec
		}
	}
	m.t.Fatalf("no statistics of %s", command)
	return 0
}
