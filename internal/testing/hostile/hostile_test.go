package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/probe"
	"muxlock/internal/redisfake"
)

// A script says what the hostile master sends on each of its connections: first honest replies, then text in place of the next
// skip replies. The connection may end behind the text. Otherwise honest replies follow again, or nothing at all if the master
// is silent, not even the end of the connection.
type script struct {
	after, skip int
	silent, end bool
	text        string
}

func (s script) mangle(nth int, reply []byte) (sent []byte, end bool) {
	switch {
	case nth < s.after:
		return reply, false
	case nth == s.after:
		text := []byte(s.text)
		if s.skip == 0 {
			text = append(text, reply...)
		}
		return text, s.end
	case s.silent || nth < s.after+s.skip:
		return nil, false
	}
	return reply, false
}

// A world is three masters in a bubble. The first is hostile.
type world struct {
	*testing.T
	masters [3]*redisfake.Server
	dials   atomic.Int64 // of the hostile master
	cfg     engine.Config
}

func newWorld(t *testing.T) *world {
	w := &world{T: t}
	for i := range w.masters {
		w.masters[i] = redisfake.New()
		w.cfg.Masters = append(w.cfg.Masters, fmt.Sprintf("192.0.2.%d:6379", i))
	}
	w.cfg.MasterTimeout = 100 * time.Millisecond
	w.cfg.TTL, w.cfg.MaxTTL = time.Minute, time.Minute
	w.cfg.Client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		i := int(address[len("192.0.2.")] - '0')
		if i == 0 {
			w.dials.Add(1)
		}
		return w.masters[i].Dial(ctx, address, d, t)
	}}
	return w
}

// close ends the masters, and finds out whether anything is left of the locks.
func (w *world) close() {
	time.Sleep(5 * time.Second) // more than the dead-peer time
	for _, m := range w.masters[1:] {
		for _, key := range m.Keys() {
			require.True(w, strings.HasPrefix(key, "__muxlock__:"), key)
		}
	}
}

// Bounds of the memory that a hostile master may cost: the engine, which is made anew each time, and each connection to the
// master, whatever the master announces.
const (
	mostForEngine     = 16 << 20 // with fencing 7 MB
	mostForConnection = 8 << 20
)

var heap = []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}

func allocated() uint64 {
	metrics.Read(heap)
	return heap[0].Value.Uint64()
}

// inBubble has do meet a master that follows the script once all are set up. It checks what do allocates.
func inBubble(t *testing.T, s script, fenced bool, do func(w *world)) {
	before := allocated()
	var dials int64
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() {
			for _, m := range w.masters {
				m.Close()
			}
			dials = w.dials.Load()
		}()
		if w.cfg.Fencing = fenced; fenced {
			require.NoError(t, admin.SetUp(t.Context(), w.cfg, admin.SetUpOptions{MastersAreNew: true}))
		}
		w.masters[0].Mangle(s.mangle)
		do(w)
	})
	most := uint64(mostForEngine + dials*(mostForConnection+20*int64(len(s.text))))
	require.Less(t, allocated()-before, most, "bytes allocated, %d dials", dials)
}

// start starts an engine, or returns nil.
func (w *world) start() *engine.Engine {
	e, err := engine.New(w.Context(), w.cfg)
	if errors.Is(err, engine.ErrInvalid) || errors.Is(err, engine.ErrConfigMismatch) {
		return nil // what a master says of passwords and sets is for people to see
	}
	require.NoError(w, err)
	return e
}

// serve has the engine's calls meet the master.
func (w *world) serve() {
	e := w.start()
	if e == nil {
		return
	}
	ctx := w.Context()
	w.cycle(ctx, e, "free")
	w.contend(ctx, e, "held")
	w.cycle(ctx, e, "free")
	require.NoError(w, e.Close())
	w.close()
}

// operators make the calls of people and tools. They see the other masters as they are.
var operators = []func(w *world){
	func(w *world) {
		members, err := admin.Members(w.Context(), w.cfg)
		require.NoError(w, err)
		for _, m := range members[1:] {
			require.NoError(w, m.Err)
		}
	},
	func(w *world) {
		watched, _, err := probe.Watch(w.Context(), w.cfg.Masters, w.cfg.Client, 20*time.Millisecond)
		require.NoError(w, err)
		for _, m := range watched[1:] {
			require.Positive(w, m.RTT.Count)
		}
	},
	func(w *world) {
		report, err := admin.CheckRefused(w.Context(), w.cfg, engine.ErrNoQuorum)
		require.NoError(w, err)
		require.NotEmpty(w, report.Findings)
	},
	func(w *world) {
		e := w.start()
		if e == nil {
			return
		}
		for _, m := range w.masters[1:] {
			m.Set("held", "another's")
		}
		found, err := admin.Inspect(w.Context(), e, "held")
		require.NoError(w, err)
		require.True(w, found.Held)
		require.NoError(w, e.Close())
	},
}

func (w *world) cycle(ctx context.Context, e *engine.Engine, name string) {
	lock, err := e.Acquire(ctx, name, 0)
	require.NoError(w, err)
	require.NoError(w, lock.Extend(ctx, 0))
	require.NoError(w, lock.Release(ctx))
}

// contend waits for a name that somebody else holds on all masters, and then releases.
func (w *world) contend(ctx context.Context, e *engine.Engine, name string) {
	for _, m := range w.masters {
		m.Set(name, "another's")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.cycle(ctx, e, name)
	}()
	time.Sleep(50 * time.Millisecond)
	for _, m := range w.masters {
		m.Delete(name)
	}
	<-done
}

// texts are what servers of other kinds, broken proxies and attackers send.
var texts = []string{
	"",
	"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400 Bad Request",
	"220 mail.example.org ESMTP\r\n",
	"\x15\x03\x01\x00\x02\x02\x46", // a TLS alert
	"$2147483648\r\n", "$2147483648\r\nabc", "$9223372036854775807\r\n", "$16777216\r\n", "$4194304\r\nabc", "$-2\r\n", "$-1\r\n", "$0\r\n\r\n", "$?\r\n;3\r\nabc\r\n;0\r\n", "$?\r\n;-9\r\n",
	"*1000000000\r\n", "*65536\r\n*65536\r\n*65536\r\n", "*-2\r\n", "*-1\r\n", "*0\r\n", "*1\r\n+a\r\n", "*?\r\n.\r\n", "*3\r\n+a\r\n>2\r\n+b\r\n+c\r\n+d\r\n",
	"%-1\r\n", "%4611686018427387905\r\n", "%0\r\n", "%1\r\n+proto\r\n:3\r\n", "%2\r\n+proto\r\n:3\r\n+version\r\n+6.0.0\r\n", "~-1\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n", "|0\r\n|0\r\n",
	strings.Repeat("*1\r\n", 20_000), strings.Repeat(">1\r\n", 1000), strings.Repeat("%1\r\n+a\r\n", 10_000),
	"+" + strings.Repeat("x", 70_000), "-" + strings.Repeat("x", 60_000) + "\r\n", ":" + strings.Repeat("9", 4000) + "\r\n",
	"_\r\n", "_ab_ab_ab", "#t\r\n", "#tab", ",nan\r\n", "(123\r\n", "=8\r\ntxt:abcd\r\n", "=1\r\na\r\n", "!3\r\nERR\r\n", ".\r\n",
	"+OK\r\n", "+OK\r\n+OK\r\n", ":1\r\n:0\r\n", "+QUEUED\r\n", "OK\r\n", "+OK\n", "\r\n", "\n", "\x00",
	">2\r\n$10\r\ninvalidate\r\n*1\r\n$4\r\nheld\r\n", ">2\r\n$10\r\ninvalidate\r\n_\r\n", ">2\r\n$10\r\ninvalidate\r\n:1\r\n", ">2\r\n$10\r\ninvalidate\r\n*1\r\n*1\r\n:1\r\n",
	">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", ">3\r\n+psubscribe\r\n$1\r\na\r\n:1\r\n", ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n", ">1\r\n+a\r\n", ">0\r\n", ">-1\r\n",
	"-NOSCRIPT No matching script\r\n", "-LOADING\r\n", "-OOM\r\n", "-NOPERM no\r\n", "-NOPERM no access to key\r\n", "-WRONGTYPE a\r\n", "-MOVED 1 127.0.0.1:1\r\n", "-WRONGPASS\r\n", "-ERR unknown command 'HELLO'\r\n", "-\r\n", "- \r\n",
	"$9\r\nrun_id:x\r\r\n", "$60\r\nrun_id:x\r\nuptime_in_seconds:-99999999999999999999\r\nloading:2\r\r\n",
}

// fuzz has do meet a master that follows any script; n is up to the fuzzer as well.
func fuzz(f *testing.F, do func(w *world, n int)) {
	for i, text := range texts {
		for _, after := range []uint8{0, 1, 4, uint8(i) % 64} {
			f.Add(after, uint8(i), uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, after, skip, mode uint8, text string) {
		fenced := mode >= 0xf8 // takes ten times as long
		s := script{after: int(after) % 64, skip: int(skip) % 8, silent: mode&1 != 0, end: mode&2 != 0, text: text}
		inBubble(t, s, fenced, func(w *world) { do(w, int(mode/4)) })
	})
}

func FuzzMasterOfAnEngine(f *testing.F) { fuzz(f, func(w *world, _ int) { w.serve() }) }
func FuzzMasterOfAnOperator(f *testing.F) {
	fuzz(f, func(w *world, n int) { operators[n%len(operators)](w) })
}

func TestMemoryIsBoundedByFewTimesWhatHonestMastersTake(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		before := allocated()
		inBubble(t, script{after: 1 << 20}, fenced, (*world).serve)
		require.Greater(t, allocated()-before, uint64(mostForEngine/100))
	}
}
