package redisfake

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/resp"
	"muxlock/internal/testing/draw"
	"muxlock/internal/testing/redistest"
	"muxlock/scripts"
)

var (
	commands  = flag.Int("commands", 0, "how many a fake and a server are to answer alike; 0: 10,000 with -short, else 100,000")
	firstSeed = flag.Uint64("seed", 0, "of the first of them; 0: by chance")
)

const (
	set       = "__muxlock__:set"
	admitted  = "__muxlock__:admitted"
	ticket    = "__muxlock__:ticket"
	since     = "__muxlock__:since"
	registers = "__muxlock__:registers"
)

// A generator draws commands.
type generator struct {
	*rand.Rand
	leases int // so far
}

// lease returns a lease far from all others. A server that reads its clock seconds later still finds the same lease longer.
func (g *generator) lease() string {
	g.leases++
	return strconv.Itoa(unit * (1 + g.leases*7919%10007)) // a permutation: 10007 is prime
}

const (
	unit   = 10_000 // ms
	reader = "~a reader, 24 characters.@"
)

// soonOver is a lease that is over before the next batch.
func soonOver() string { return "1" }

// shortly draws a command whose leases are soonOver. It names no key twice: on a busy machine the command may take as long as
// such a lease, so that one server finds the key and the other does not.
func (g *generator) shortly() []string {
	names := slices.Clone(lockNames)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	next := 0
	return g.commandOn(1+g.IntN(len(names)), soonOver, func() string {
		next++
		return names[(next-1)%len(names)] // locks, then their intents
	})
}

// command draws a command that the engine sends, on so few names that they repeat. One name is that of a hash.
func (g *generator) command() []string {
	return g.commandOn(1+g.IntN(12), g.lease, func() string { return lockNames[g.IntN(len(lockNames))] })
}

// commandOn draws a command of so many entries.
func (g *generator) commandOn(entries int, lease, name func() string) []string {
	rng := g.Rand
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	token := func() string {
		return pick("t1", "t1", "t2", "", "\x00\r\n\xff", reader, reader, "~another, of 24 characters!"[:25]+"@")
	}
	description := func() string { return pick("set 1", "set 1", "set 2") }
	mark := func() string {
		return pick("first nonce, of 24 bytes run1 m", "first nonce, of 24 bytes run1 m", "other nonce, of 24 bytes run1 m", "first nonce, of 24 bytes run2 m")
	}
	eval := func(s scripts.Script, keys []string, args ...string) []string {
		return slices.Concat([]string{"EVALSHA", s.SHA1, strconv.Itoa(len(keys))}, keys, args)
	}
	many := func(n int, one func() string) (all []string) {
		for range n {
			all = append(all, one())
		}
		return all
	}
	runs := func(what func() string) (all []string) {
		for n, left := 0, entries; left > 0; left -= n {
			n = 1 + rng.IntN(left)
			all = append(all, what(), strconv.Itoa(n))
		}
		return all
	}
	register := func() string { return pick("0", "1", "2", "3") }
	value := func() string { return pick("1", "5", "70", "137438953470", "137438953471", "137438953472") }
	fenced := func(s scripts.Script, names []string, how func() string) []string {
		return eval(s, slices.Concat([]string{set, admitted, registers}, names), slices.Concat([]string{description()},
			many(entries, token), many(entries, register), many(entries, value), runs(how))...)
	}
	switch rng.IntN(25) {
	case 0, 1:
		return []string{"SET", name(), token(), "NX", "PX", lease()}
	case 2:
		return []string{"DEL", name(), name()}
	case 3:
		return eval(scripts.Release, []string{name()}, token())
	case 4:
		return eval(scripts.Extend, []string{name()}, token(), lease())
	case 5, 6:
		return eval(scripts.Batch, many(entries, name), slices.Concat(many(entries, token), runs(func() string { return pick(lease(), "-", "s-", "&"+lease(), "|"+lease()) }))...)
	case 7, 8:
		names := slices.Clone(lockNames)
		entries = 1 + rng.IntN(len(names))
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		acquire := fenced(scripts.FencedAcquire, names[:entries], func() string { return pick("", "&", "|") + lease() })
		return append(acquire, many(rng.IntN(2), func() string { return "msetex" })...) // 7.0 goes on without
	case 9:
		return fenced(scripts.FencedExtend, many(entries, name), lease)
	case 10:
		return eval(scripts.Raise, []string{set, registers}, description(), register(), value(), register(), value())
	case 11:
		return eval(scripts.Open, []string{set, admitted, ticket, since}, pick("", description()), pick("", "", mark()), mark(), pick("clock 1", "clock 2"))
	case 12:
		return eval(scripts.Seed, []string{set, admitted, ticket, since, registers}, description(), mark(), pick("", description()), value(), "0", value())
	case 13:
		return eval(scripts.Switch, []string{set, admitted}, description(), mark(), description(), mark())
	case 14:
		return eval(scripts.Inspect, []string{name(), "line", set}, pick("1", strconv.Itoa(limits.ValueBytes)))
	case 15:
		return eval(scripts.ReadRegisters, []string{set, admitted, registers}, pick("", description()), mark())
	case 16:
		return []string{"HSET", since, mark() + " " + pick("clock 1", "clock 2"), "5"}
	case 17:
		return []string{"HGET", since, mark() + " clock 1"}
	case 18, 19, 20:
		keys, fencing := slices.Concat(many(entries, name), many(entries, func() string { return "intent of " + name() })), []string{""}
		if rng.IntN(2) == 0 {
			keys, fencing = append(keys, set, admitted), []string{description()}
		}
		return eval(scripts.Shared, keys, slices.Concat(fencing, many(entries, token), runs(func() string { return pick(lease(), lease(), "+"+lease(), "*"+lease(), "!"+lease(), "!0") }))...)
	case 21:
		return []string{"HSET", registers, register(), pick("text", "-1", "1.5", "nan", "1e30", value())}
	case 22, 23:
		return []string{"SET", pick(name(), ticket), pick(token(), mark()), "NX"} // without an end
	}
	return eval(scripts.Trial, []string{"trial"})
}

var lockNames = []string{"a", "b", "c", "d\r\n\x00", "e", registers}

// A batch is sent in one write, then its replies are read.
const (
	inBatch = 250
	perSeed = 4 * inBatch
)

// batch draws commands, each followed by a look at a key. The last one takes short leases. The first ones look at all keys,
// so that both servers notice which leases are over, and push that.
func (g *generator) batch() (batch [][]string) {
	keys := append(slices.Clone(lockNames), set, admitted, ticket, since, "intent of a", "intent of b")
	for _, key := range keys {
		batch = append(batch, []string{"GET", key})
	}
	for len(batch) < inBatch-4 {
		batch = append(batch, g.command())
		key := keys[g.IntN(len(keys))]
		switch g.IntN(4) {
		case 0:
			batch = append(batch, []string{"GET", key})
		case 1:
			batch = append(batch, []string{"CLIENT", "CACHING", "YES"}, []string{"PTTL", key})
		default:
			batch = append(batch, []string{"PTTL", key})
		}
	}
	last := g.shortly()
	if g.IntN(2) == 0 {
		last = []string{"SET", keys[g.IntN(5)], "t1", "NX", "PX", soonOver()}
	}
	return append(batch, last, []string{"PING"}) // PONG comes behind the pushes
}

// A peer is a connection to a fake or to a server.
type peer struct {
	net.Conn
	in *bufio.Reader
}

func peerOf(t *testing.T, c net.Conn, err error) peer {
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return peer{c, bufio.NewReaderSize(c, 64<<10)}
}

// ask sends commands in one write.
func (p peer) ask(t *testing.T, bytes []byte) {
	_, err := p.Write(bytes)
	require.NoError(t, err)
}

// answer reads the next reply, and adds the keys of pushes before it to pushed.
func (p peer) answer(t *testing.T, pushed *[]string) resp.Reply {
	for {
		sign, err := p.in.Peek(1)
		require.NoError(t, err)
		if sign[0] != '>' {
			break
		}
		line, err := p.in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, ">2\r\n", line)
		kind, err := resp.Read(p.in)
		require.NoError(t, err)
		require.Equal(t, "invalidate", kind.Text)
		keys, err := resp.ReadList(p.in)
		require.NoError(t, err)
		for _, key := range keys {
			*pushed = append(*pushed, key.Text)
		}
	}
	reply, err := resp.Read(p.in)
	require.NoError(t, err)
	return reply
}

// comparable returns the part of a reply on which both must agree: the class of an error, a rough time to live, registers in
// any order.
func comparable(words []string, r resp.Reply) string {
	text := r.Text
	switch {
	case r.Kind == resp.Null:
		return "nil"
	case r.Kind == resp.Failed:
		return "error " + class(text)
	case r.Kind == resp.Number && words[0] == "PTTL" && r.Number > 0:
		return roughly(r.Number)
	case r.Kind == resp.Number:
		return strconv.FormatInt(r.Number, 10)
	case words[0] == "EVALSHA" && words[1] == scripts.Inspect.SHA1:
		words := strings.SplitN(text, "\n", 5)
		ms, _ := strconv.ParseInt(words[2], 10, 64)
		words[2] = roughly(ms)
		if words[3] > "1" { // readers, whose ends may differ by a millisecond
			tokens := strings.Split(words[4], "\n")
			slices.Sort(tokens)
			words[4] = strings.Join(tokens, "\n")
		}
		return fmt.Sprint(words)
	case words[0] == "EVALSHA" && words[1] == scripts.ReadRegisters.SHA1:
		pairs := slices.Collect(slices.Chunk(strings.Fields(text), 2))
		slices.SortFunc(pairs, slices.Compare)
		return fmt.Sprint(pairs)
	}
	lines := strings.Split(text, "\n")
	if last := &lines[len(lines)-1]; len(lines) > 1 && strings.IndexFunc(*last, unicode.IsUpper) == 0 {
		*last = "error " + class(*last)
	}
	return fmt.Sprintf("text %q", lines)
}

func roughly(ms int64) string { return fmt.Sprint("about ", (ms+unit/2)/unit) }

func class(text string) string {
	word, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), " ")
	return word
}

// play has a fake and the server answer the commands of a seed. It returns how many they were.
func play(t *testing.T, server peer, seed uint64) (sent int) {
	s := New()
	defer s.Close()
	c, err := s.Dial(t.Context(), "", nil, nil)
	ours := peerOf(t, c, err)
	both := func(batch [][]string) {
		var bytes []byte
		for _, words := range batch {
			bytes = resp.AppendCommand(bytes, words...)
		}
		server.ask(t, bytes)
		ours.ask(t, bytes) // the fake executes them while the server does
		var pushes [2][]string
		for i, words := range batch {
			want, got := comparable(words, server.answer(t, &pushes[0])), comparable(words, ours.answer(t, &pushes[1]))
			if want != got {
				require.Equal(t, want, got, "seed %d, command %d: %q", seed, sent+i, words)
			}
		}
		for i := range pushes {
			slices.Sort(pushes[i])
		}
		require.Equal(t, pushes[0], pushes[1], "seed %d, pushes of commands %d to %d", seed, sent, sent+len(batch))
		sent += len(batch)
	}
	server.ask(t, resp.AppendCommand(resp.AppendCommand(resp.AppendCommand(nil, "CLIENT", "TRACKING", "OFF"), "FLUSHALL"), "SCRIPT", "FLUSH"))
	for range 3 {
		require.Equal(t, "OK", server.answer(t, new([]string)).Text)
	}
	start := [][]string{{"CLIENT", "TRACKING", "ON", "OPTIN"}, {"EVALSHA", scripts.Release.SHA1, "1", "a", "t1"}, {"PING"}, {"NOSUCH", "command"}, {"SET", "a", "b", "WHAT"}}
	for _, s := range everyScript() {
		start = append(start, []string{"SCRIPT", "LOAD", s.Source})
	}
	both(start)
	g := generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	for sent < perSeed {
		both(g.batch())
		time.Sleep(2 * time.Millisecond) // the lease of one is over at both
	}
	return sent
}

func TestFakeAnswersAsAServerDoes(t *testing.T) {
	left, next := *commands, *firstSeed
	switch {
	case left == 0 && testing.Short():
		left = 10_000
	case left == 0:
		left = 100_000
	}
	if next == 0 {
		next = draw.Seed(t)
	}
	t.Logf("%d commands, seeds from %d", left, next)
	c, err := net.Dial("tcp", redistest.Masters(t, 1)[0].Addr())
	server := peerOf(t, c, err)
	server.ask(t, resp.AppendCommand(resp.AppendCommand(nil, "HELLO", "3"), "ECHO", "greeted"))
	for line := ""; line != "greeted\r\n"; {
		line, err = server.in.ReadString('\n')
		require.NoError(t, err)
	}
	for ; left > 0; next++ {
		left -= play(t, server, next)
	}
}
