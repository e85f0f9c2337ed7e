package redisfake

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/draw"
	"muxlock/scripts"
)

// aboutTimes rounds the milliseconds in an answer or push of the line. Its kind says which word they are.
func aboutTimes(text string, ms map[string]int) string {
	words := strings.Split(text, "\n")
	kind := 0
	if ms[words[0]] == 0 && len(words) > 1 { // of an answer with a mark
		kind = 1
	}
	if at := ms[words[kind]] + kind; at > kind {
		n, err := strconv.Atoi(words[at])
		if err != nil {
			return text
		}
		words[at] = fmt.Sprint("about ", (n+50_000)/100_000)
	}
	return strings.Join(words, "\n")
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
			if messages <- aboutTimes(m.Message, map[string]int{"g": 3}); strings.Contains(m.Message, "\nend\n") {
				close(messages)
			}
		})
	}()
	<-ready
	return messages
}

// randomLineCommand draws a command of a waiter for one of two names, one with fencing and one without, or a command that
// writes nonsense.
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
	case 0, 1, 11, 12, 13, 14:
		age := 140_000 + 260_000*rng.Int64N(2) // less than half of the lease, or more
		aged := fmt.Sprint("7 ", time.Now().UnixMilli()-age, " 1000000 300000 ", channel, " ", tag)
		return []string{"HSET", entries, token(), pick(aged, aged, aged, aged, "nonsense", "7 1 1000000 5 "+channel+" - ", "7 99999999999999 1000000 5 "+channel+" - ", "7 x 1 5 "+channel+" - ")}
	case 2:
		return []string{"DEL", pick(line, entries)}
	case 3:
		return []string{"HSET", pick(line, name), "x", "y"}
	case 4, 5, 9, 10:
		return []string{"DEL", name, pick("z", registers)}
	case 6, 7, 19, 20, 21, 22:
		return []string{"HSET", registers, "0", pick("5", "5", "137438953470", "text")}
	case 8:
		return []string{"SET", name, reader}
	case 15:
		return []string{"DEL", admitted}
	case 16, 17, 18:
		return []string{"SET", admitted, "a mark with blanks", "NX"}
	}
	if rng.IntN(2) == 0 {
		age := strconv.Itoa(100_000 * rng.IntN(1_000_000)) // all differ by more than a test takes, so that lines have one order
		return eval(scripts.Wait, token(), pick("7", "8"), ttl(), "1000000", pick(channel, channel, channel, "unheard"), tag,
			pick(age, age, ""), pick("0", "0", "0", "1", "-"), ttl())
	}
	tag = pick(tag, tag, tag, tag, tag, "another")
	return eval(scripts.Pass, token(), pick("p", "p", "p", "p", "o", "n"), "word", tag, pick("-", token()), pick("-", token()))
}

// doLine is do with rounded times.
func (c client) doLine(words ...string) string {
	c.t.Helper()
	text, _, _ := strings.Cut(c.do(words...), " script: ") // of an error: where it happened
	switch {
	case words[0] == "PTTL":
		ms, err := strconv.Atoi(text)
		require.NoError(c.t, err)
		return fmt.Sprint("about ", (ms+50_000)/100_000)
	case words[0] == "EVALSHA" && words[1] == scripts.Wait.SHA1:
		return aboutTimes(text, map[string]int{"m": 1})
	default:
		return text
	}
}

func TestFakeKeepsALineAsAServerDoes(t *testing.T) {
	server := real(t)
	for _, s := range []scripts.Script{scripts.Wait, scripts.Pass} {
		server.do("SCRIPT", "LOAD", s.Source)
	}
	first := draw.Seed(t)
	kinds := make(map[string]int) // of messages
	for seed := first; seed < first+10; seed++ {
		_, fake := fake(t)
		for _, s := range []scripts.Script{scripts.Wait, scripts.Pass} {
			fake.do("SCRIPT", "LOAD", s.Source)
		}
		same := func(words ...string) {
			require.Equal(t, server.doLine(words...), fake.doLine(words...), "seed %d: %q", seed, words)
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		channel := fmt.Sprint("channel", seed)
		heard, heardToo := server.listen(channel), fake.listen(channel)
		server.do("FLUSHALL")
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
	}
	t.Log("messages: ", kinds)
	require.Positive(t, kinds["g"])
}
