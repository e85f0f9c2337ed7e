package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/internal/testing/redistest"
)

// lockRequests returns n acquires, or the releases that undo them.
func lockRequests(op Op, n int) []Request {
	list := make([]Request, n)
	for i := range list {
		list[i] = Request{Op: op, Name: fmt.Sprint("name", i), Token: "0123456789abcdefghijklm=", TTL: hour}
	}
	return list
}

// BenchmarkRound is the time from the arrival of a batch until every call of it has
// its verdict: by turns a batch of acquires and the batch of their releases.
//
//	go test -bench Round ./pipeline
func BenchmarkRound(b *testing.B) {
	const masters = 5
	p, _ := overBareServers(b, masters)
	for _, batch := range []int{1, 8, 32, 512} {
		b.Run(fmt.Sprintf("masters=%d/batch=%d", masters, batch), func(b *testing.B) {
			turns := [2][]Request{lockRequests(Acquire, batch), lockRequests(Release, batch)}
			waiting := make([]*call, batch)
			for i := range waiting {
				waiting[i] = &call{done: make(chan struct{}, 1)}
			}
			round := func(requests []Request) {
				p.mu.Lock()
				for i, c := range waiting {
					c.req = requests[i]
					c.state.Store(0)
					p.queue.push(c)
				}
				p.formLocked()
				p.unlock()
				for _, c := range waiting {
					if <-c.done; c.out.Verdict != quorum.Won {
						b.Fatalf("%+v", c.out)
					}
				}
			}
			b.ReportAllocs()
			rounds := 0
			for b.Loop() {
				round(turns[rounds%2])
				rounds++
			}
			b.StopTimer()
			if rounds%2 == 1 {
				round(turns[1])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds*batch), "ns/request")
		})
	}
}

// overBareServers starts a pipeline over n real servers with nothing in between, and
// returns their addresses too.
func overBareServers(b *testing.B, n int) (*Pipeline, []string) {
	b.Helper()
	addrs := redistest.Addrs(redistest.Masters(b, n))
	cfg := Config{Timeout: time.Second, Queue: 1 << 14}
	for _, a := range addrs {
		cfg.Masters = append(cfg.Masters, Master{a, rueidis.ClientOption{InitAddress: []string{a}}})
	}
	p, err := New(b.Context(), cfg)
	require.NoError(b, err)
	b.Cleanup(p.Close)
	return p, addrs
}

// BenchmarkFold justifies foldFrom, and that acquires are not folded: one server, a batch of
// acquires, extends or releases, the latter two sent each by itself or as one call of the
// batch script, whatever the pipeline would choose. From the batch size on at which fold=true
// is faster, folding is worth it; server-ns/request is the server's own CPU time for the commands,
// without parsing and sockets.
//
//	go test -bench Fold ./pipeline
func BenchmarkFold(b *testing.B) {
	_, addrs := overBareServers(b, 1) // its probe loads the scripts
	s, err := dial(b.Context(), limited(rueidis.ClientOption{InitAddress: addrs[:1]}), time.Second)
	require.NoError(b, err)
	b.Cleanup(s.close)
	var replies []resp.Reply
	ask := func(out *batch) {
		if replies, err = s.ask(out, replies); err != nil || replies[len(replies)-1].Err() != nil {
			b.Fatal(err, replies)
		}
	}
	trial := newNativeTrial("trial", "t")
	replies, err = s.ask(&trial, replies)
	require.NoError(b, err)
	native := readNativeTrial(replies, "t")
	for op, what := range []string{"acquire", "extend", "release"} {
		for _, size := range []int{1, 2, 4, 6, 8, 12, 16, 32, 128, 512} {
			for _, folded := range []bool{false, true} {
				if folded && Op(op) == Acquire && native&msetex == 0 {
					continue
				}
				b.Run(fmt.Sprintf("op=%s/batch=%d/fold=%t", what, size, folded), func(b *testing.B) {
					requests := lockRequests(Op(op), size)
					before := new(batch) // has the keys as the requests find them
					for i, q := range requests {
						if Op(op) == Acquire {
							before.begin(2)
							before.add("DEL", q.Name)
						} else {
							before.begin(5)
							before.add("SET", q.Name, q.Token, "PX", strconv.Itoa(1000+i))
						}
					}
					b.ReportAllocs()
					ns, loops := 0.0, 0
					for b.Loop() {
						b.StopTimer()
						ask(before)
						ns -= serverNanos(b, s)
						b.StartTimer()
						var out batch
						switch {
						case folded && Op(op) == Acquire:
							out.msetex(requests)
						case folded:
							out.fold(requests)
						default:
							for i := range requests {
								out.plain(&requests[i], native)
							}
						}
						ask(&out)
						b.StopTimer()
						ns += serverNanos(b, s)
						b.StartTimer()
						loops++
					}
					b.ReportMetric(ns/float64(loops*size), "server-ns/request")
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(loops*size), "ns/request")
				})
			}
		}
	}
}

// serverNanos is the CPU time that a server has spent in the pipeline's commands.
func serverNanos(b *testing.B, s *session) (ns float64) {
	b.Helper()
	var info batch
	info.begin(2)
	info.add("INFO", "commandstats")
	replies, err := s.ask(&info, nil)
	require.NoError(b, err)
	for line := range strings.Lines(replies[0].Text) {
		command, fields, _ := strings.Cut(line, ":")
		if !slices.Contains([]string{"cmdstat_set", "cmdstat_evalsha", "cmdstat_msetex", "cmdstat_delex", "cmdstat_delifeq"}, command) {
			continue
		}
		var calls, usec int64
		_, err := fmt.Sscanf(fields, "calls=%d,usec=%d", &calls, &usec)
		require.NoError(b, err)
		ns += float64(usec) * 1000
	}
	return ns
}
