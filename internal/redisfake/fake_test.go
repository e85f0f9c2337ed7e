package redisfake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/serverinfo"
	"muxlock/internal/testing/redistest"
	"muxlock/scripts"
)

// A client is a connection to a master, a fake or a real one.
type client struct {
	t testing.TB
	rueidis.Client
}

func connect(t testing.TB, option rueidis.ClientOption) client {
	t.Helper()
	option.ForceSingleClient, option.DisableCache, option.DisableRetry = true, true, true
	c, err := rueidis.NewClient(option)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return client{t, c}
}

func fake(t testing.TB) (*Server, client) {
	t.Helper()
	s := New()
	t.Cleanup(s.Close)
	return s, connect(t, rueidis.ClientOption{InitAddress: []string{"fake:6379"}, DialCtxFn: s.Dial})
}

func real(t testing.TB) client {
	t.Helper()
	return connect(t, rueidis.ClientOption{InitAddress: []string{redistest.Masters(t, 1)[0].Addr()}})
}

// do returns the comparable part of an answer: the class of an error, a rough time to live, registers in any order.
func (c client) do(words ...string) string {
	c.t.Helper()
	reply := c.Do(context.Background(), c.B().Arbitrary(words[0]).Args(words[1:]...).Build())
	require.NoError(c.t, reply.NonRedisError())
	answer, err := reply.ToAny()
	switch {
	case rueidis.IsRedisNil(err):
		return "nil"
	case err != nil:
		return "error " + class(err.Error())
	case words[0] == "PTTL" && answer.(int64) > 0:
		return fmt.Sprint("about ", (answer.(int64)+50_000)/100_000)
	case words[0] == "EVALSHA" && words[1] == scripts.Inspect.SHA1:
		var ms int64
		_, err := fmt.Sscan(answer.(string), &ms)
		require.NoError(c.t, err)
		_, value, _ := strings.Cut(answer.(string), " ")
		return fmt.Sprint("about ", (ms+50_000)/100_000, " ", value)
	case words[0] == "EVALSHA" && words[1] == scripts.Wait.SHA1:
		return roughly(answer.(string), map[string]int{"m": 1, "q": 2})
	case words[0] == "EVALSHA" && words[1] == scripts.ReadRegisters.SHA1:
		all := strings.Fields(answer.(string))
		pairs := slices.Collect(slices.Chunk(all, 2))
		slices.SortFunc(pairs, slices.Compare)
		return fmt.Sprint(pairs)
	}
	text := fmt.Sprint(answer)
	if votes, fault, failed := strings.Cut(text, "\n"); failed {
		return votes + " error " + class(fault)
	}
	return text
}

// roughly rounds the milliseconds in an answer or push of the line, whose kind says which word they are.
func roughly(text string, ms map[string]int) string {
	mark, rest, found := strings.Cut(text, "\n")
	if !found {
		mark, rest = "", text
	}
	words := strings.Split(rest, " ")
	if at := ms[words[0]]; at > 0 {
		n, err := strconv.Atoi(words[at])
		if err != nil {
			return text
		}
		words[at] = fmt.Sprint("about ", (n+50_000)/100_000)
	}
	return strings.Join(append(words, mark), " ")
}

// listen returns the messages of a channel, and ends with one for the token "end".
func (c client) listen(channel string) <-chan string {
	c.t.Helper()
	messages := make(chan string, 10_000)
	ready := make(chan struct{})
	subscribed := sync.OnceFunc(func() { close(ready) })
	ctx := rueidis.WithOnSubscriptionHook(c.t.Context(), func(rueidis.PubSubSubscription) {
		subscribed()
	})
	go func() {
		_ = c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) {
			if messages <- roughly(m.Message, map[string]int{"g": 3}); strings.Contains(m.Message, " end ") {
				close(messages)
			}
		})
	}()
	<-ready
	return messages
}

func (c client) info() serverinfo.Info {
	c.t.Helper()
	text, err := c.Do(context.Background(), c.B().Info().Build()).ToString()
	require.NoError(c.t, err)
	return serverinfo.Parse(text)
}

func class(text string) string {
	word, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), " ")
	return word
}

const (
	set       = "__muxlock__:set"
	admitted  = "__muxlock__:admitted"
	ticket    = "__muxlock__:ticket"
	since     = "__muxlock__:since"
	registers = "__muxlock__:registers"
)

// randomCommand draws a command that the engine sends, on so few names that they repeat. One name is that of a hash.
func randomCommand(rng *rand.Rand) []string {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	names := []string{"a", "b", "c", "d\r\n\x00", "e", registers}
	name := func() string { return pick(names...) }
	token := func() string { return pick("t1", "t1", "t2", "") }
	ttl := func() string { return pick("100000", "300000", "900000") }
	description := func() string { return pick("set 1", "set 1", "set 2") }
	mark := func() string {
		return pick("first nonce, of 24 bytes run1 m", "first nonce, of 24 bytes run1 m", "other nonce, of 24 bytes run1 m", "first nonce, of 24 bytes run2 m")
	}
	entries := 1 + rng.IntN(12)
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
		first := rng.IntN(entries + 1)
		for _, n := range []int{first, entries - first} {
			if n > 0 {
				all = append(all, what(), strconv.Itoa(n))
			}
		}
		return all
	}
	register := func() string { return pick("0", "1", "2", "3") }
	value := func() string { return pick("1", "5", "70", "137438953470", "137438953471", "137438953472") }
	fenced := func(s scripts.Script, names []string) []string {
		return eval(s, slices.Concat([]string{set, admitted, registers}, names), slices.Concat([]string{description()},
			many(entries, token), many(entries, register), many(entries, value), runs(ttl))...)
	}
	switch rng.IntN(19) {
	case 0, 1:
		return []string{"SET", name(), token(), "NX", "PX", ttl()}
	case 2:
		return []string{"DEL", name(), name()}
	case 3:
		return eval(scripts.Release, []string{name()}, token())
	case 4:
		return eval(scripts.Extend, []string{name()}, token(), ttl())
	case 5, 6:
		return eval(scripts.Batch, many(entries, name), slices.Concat(many(entries, token), runs(func() string { return pick(ttl(), "-") }))...)
	case 7, 8:
		entries = 1 + rng.IntN(len(names))
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return fenced(scripts.FencedAcquire, names[:entries])
	case 9:
		return fenced(scripts.FencedExtend, many(entries, name))
	case 10:
		return eval(scripts.Raise, []string{set, registers}, description(), register(), value(), register(), value())
	case 11:
		return eval(scripts.Open, []string{set, admitted, ticket, since}, pick("", description()), pick("", "", mark()), mark(), pick("clock 1", "clock 2"))
	case 12:
		return eval(scripts.Seed, []string{set, admitted, ticket, since, registers}, description(), mark(), pick("", description()), value(), "0", value())
	case 13:
		return eval(scripts.Switch, []string{set, admitted}, description(), mark(), description(), mark())
	case 14:
		return eval(scripts.Inspect, []string{name()}, pick("1", "512"))
	case 15:
		return eval(scripts.ReadRegisters, []string{set, admitted, registers}, pick("", description()), mark())
	case 16:
		return []string{"HSET", since, mark() + " " + pick("clock 1", "clock 2"), "5"}
	case 17:
		return []string{"HGET", since, mark() + " clock 1"}
	}
	return eval(scripts.Trial, []string{"trial"})
}

// randomLineCommand draws a command of those who wait for two names, one with fencing and one without, or of somebody
// who writes nonsense.
func randomLineCommand(rng *rand.Rand, channel string) []string {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	token := func() string { return pick("t1", "t2", "t3", "t4") }
	ttl := func() string { return pick("100000", "300000", "900000") }
	fenced := rng.IntN(2) == 0
	name, tag, keys, member := "plain", "-", []string(nil), []string(nil)
	if fenced {
		name, tag, keys = "fenced", "tag", []string{set, admitted, registers}
		member = []string{pick("set 1", "set 1", "set 1", "set 1", "set 2"), pick("0", "0", "0", "1", "2"), pick("1", "5", "70", "137438953471")}
	}
	line, entries := "__muxlock__:q:"+name, "__muxlock__:w:"+name
	keys = append([]string{name, line, entries}, keys...)
	eval := func(s scripts.Script, args ...string) []string {
		return slices.Concat([]string{"EVALSHA", s.SHA1, strconv.Itoa(len(keys))}, keys, args, member)
	}
	switch rng.IntN(100) {
	case 0, 1:
		return []string{"HSET", entries, token(), pick("nonsense", "7 1 1000000 5 "+channel+" - ", "7 99999999999999 1000000 5 "+channel+" - ", "7 x 1 5 "+channel+" - ")}
	case 2:
		return []string{"DEL", pick(line, entries)}
	case 3:
		return []string{"HSET", pick(line, name), "x", "y"}
	case 4, 5:
		return []string{"DEL", name, pick("z", registers)}
	case 6, 7:
		return []string{"HSET", registers, "0", pick("5", "5", "137438953470", "text")}
	}
	if rng.IntN(2) == 0 {
		age := strconv.Itoa(100_000 * rng.IntN(1_000_000)) // all differ by more than a test takes, so that lines have one order
		return eval(scripts.Wait, token(), pick("7", "8"), ttl(), "1000000", pick(channel, channel, channel, "unheard"), tag,
			pick(age, age, ""), pick("0", "0", "0", "1"), ttl())
	}
	tag = pick(tag, tag, tag, tag, tag, "another")
	return eval(scripts.Pass, token(), pick("p", "p", "p", "p", "o"), "word", tag, pick("-", token()), pick("-", token()))
}

func TestFakeAnswersAsAServerDoes(t *testing.T) {
	server := real(t)
	first := rand.Uint64()
	t.Logf("seeds from %d", first)
	kinds := make(map[string]int) // of messages
	for seed := first; seed < first+10; seed++ {
		_, fake := fake(t)
		same := func(words ...string) {
			require.Equal(t, server.do(words...), fake.do(words...), "seed %d: %q", seed, words)
		}
		channel := fmt.Sprint("channel", seed)
		heard, heardToo := server.listen(channel), fake.listen(channel)
		server.do("FLUSHALL")
		server.do("SCRIPT", "FLUSH")
		same("EVALSHA", scripts.Release.SHA1, "1", "a", "t1")
		for _, s := range everyScript() {
			same("SCRIPT", "LOAD", s.Source)
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		for range 300 {
			same(randomCommand(rng)...)
			key := []string{"a", "b", "c", "d\r\n\x00", "e", set, admitted, ticket, since, registers}[rng.IntN(10)]
			same("GET", key)
			same("PTTL", key)
		}
		same("DEL", set, admitted, registers)
		same("SET", set, "set 1", "NX", "PX", "900000")
		same("SET", admitted, "a mark with blanks", "NX", "PX", "900000")
		for range 600 {
			same(randomLineCommand(rng, channel)...)
			name := []string{"plain", "fenced", registers}[rng.IntN(3)]
			same("GET", name)
			same("PTTL", name)
			same("HGET", registers, "0")
		}
		same("DEL", "z", "__muxlock__:q:z", "__muxlock__:w:z")
		same("SET", "z", "t1", "NX", "PX", "100000")
		same("EVALSHA", scripts.Wait.SHA1, "3", "z", "__muxlock__:q:z", "__muxlock__:w:z", "end", "1", "100000", "100000", channel, "-", "0", "0", "100000")
		same("EVALSHA", scripts.Pass.SHA1, "3", "z", "__muxlock__:q:z", "__muxlock__:w:z", "t1", "p", "word", "-", "-", "-")
		for message := range heard {
			require.Equal(t, message, <-heardToo, "seed %d", seed)
			kinds[message[:1]]++
		}
		same("PING")
		same("NOSUCH", "command")
		same("SET", "a", "b", "WHAT")
	}
	t.Log("messages: ", kinds)
	require.Positive(t, kinds["g"])
}

func everyScript() []scripts.Script {
	return append(scripts.All(true), scripts.Wait, scripts.Pass, scripts.Inspect)
}

func TestFakeExecutesEveryScript(t *testing.T) {
	for _, s := range everyScript() {
		require.Contains(t, known, s.SHA1, s.Name)
	}
}

func TestFakeReportsItselfAsAServerDoes(t *testing.T) {
	theirs := real(t).info()
	s, c := fake(t)
	ours := c.info()
	for field := range ours {
		require.Contains(t, theirs, field)
	}
	require.Len(t, ours.RunID(), len(theirs.RunID()))
	require.Equal(t, theirs.Role(), ours.Role())
	up, _ := ours.Uptime()
	require.Greater(t, up, 24*time.Hour)
	s.Restart()
	_, err := c.Do(t.Context(), c.B().Ping().Build()).ToString()
	require.Error(t, err, "the connection has ended")
	again := connect(t, rueidis.ClientOption{InitAddress: []string{"fake:6379"}, DialCtxFn: s.Dial})
	now := again.info()
	require.NotEqual(t, ours.RunID(), now.RunID())
	up, _ = now.Uptime()
	require.Less(t, up, time.Hour)
}

func TestKeysExpireByTheClockOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := fake(t)
		c.do("SET", "a", "t", "NX", "PX", "1000")
		time.Sleep(time.Second)
		require.Equal(t, "t", c.do("GET", "a"), "it lives through its last millisecond")
		time.Sleep(time.Millisecond)
		require.Equal(t, "-2", c.do("PTTL", "a"))
		require.Empty(t, s.Keys())
	})
}

func TestSlowAnswersComeLateAndAtOnceWhenThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := fake(t)
		took := func() time.Duration {
			start := time.Now()
			c.do("PING")
			return time.Since(start)
		}
		require.Zero(t, took())
		s.Slow(time.Second)
		require.Equal(t, time.Second, took())
		s.Slow(5 * time.Second)
		time.AfterFunc(2*time.Second, func() { s.Slow(0) })
		require.Equal(t, 2*time.Second, took())
	})
}
