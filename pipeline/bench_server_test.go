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
	"muxlock/pipeline/internal/conn"
)

// lockRequests returns n acquires, or the releases that undo them.
func lockRequests(op Op, n int) []Request {
	list := make([]Request, n)
	for i := range list {
		list[i] = Request{Op: op, Name: fmt.Sprint("name", i), Token: "0123456789abcdefghijklm=", TTL: hour}
	}
	return list
}

// BenchmarkRound measures from the arrival of a batch until every call of it has its verdict.
// Batches of acquires and of their releases take turns.
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
				p.unlockAndWrite()
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
		cfg.Masters = append(cfg.Masters, Master{Address: a, Option: rueidis.ClientOption{InitAddress: []string{a}}})
	}
	p, err := New(b.Context(), cfg)
	require.NoError(b, err)
	b.Cleanup(p.Close)
	return p, addrs
}

// BenchmarkFold justifies conn.FoldFrom, and that acquires are not folded. It sends one server a
// batch of acquires, extends or releases. Extends and releases go each by itself or as one call of
// the batch script, whatever the pipeline would choose. Folding is worth it from the batch size on
// at which fold=true is faster. server-ns/request is the server's own CPU time for the commands,
// without parsing and sockets.
//
//	go test -bench Fold ./pipeline
func BenchmarkFold(b *testing.B) {
	_, addrs := overBareServers(b, 1) // its probe loads the scripts
	s, err := conn.Dial(b.Context(), conn.Limited(rueidis.ClientOption{InitAddress: addrs[:1]}), time.Second, 0)
	require.NoError(b, err)
	b.Cleanup(s.Close)
	var replies []resp.Reply
	ask := func(out *conn.Batch) {
		if replies, err = s.Ask(out, replies); err != nil || replies[len(replies)-1].Err() != nil {
			b.Fatal(err, replies)
		}
	}
	trial := conn.NewNativeTrial("trial", "t")
	replies, err = s.Ask(&trial, replies)
	require.NoError(b, err)
	native := conn.ReadNativeTrial(replies, "t")
	for op, what := range []string{"acquire", "extend", "release"} {
		for _, size := range []int{1, 2, 4, 6, 8, 12, 16, 32, 128, 512} {
			for _, folded := range []bool{false, true} {
				if folded && Op(op) == Acquire && native&conn.Msetex == 0 {
					continue
				}
				b.Run(fmt.Sprintf("op=%s/batch=%d/fold=%t", what, size, folded), func(b *testing.B) {
					requests := lockRequests(Op(op), size)
					before := new(conn.Batch) // has the keys as the requests find them
					for i, q := range requests {
						if Op(op) == Acquire {
							before.Command("DEL", q.Name)
						} else {
							before.Command("SET", q.Name, q.Token, "PX", strconv.Itoa(1000+i))
						}
					}
					b.ReportAllocs()
					ns, loops := 0.0, 0
					for b.Loop() {
						b.StopTimer()
						ask(before)
						ns -= serverNanos(b, s)
						b.StartTimer()
						var out conn.Batch
						switch {
						case folded && Op(op) == Acquire:
							out.Msetex(requests)
						case folded:
							out.Fold(requests, 0)
						default:
							for i := range requests {
								out.Plain(&requests[i], native)
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
func serverNanos(b *testing.B, s *conn.Session) (ns float64) {
	b.Helper()
	var info conn.Batch
	info.Command("INFO", "commandstats")
	replies, err := s.Ask(&info, nil)
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
