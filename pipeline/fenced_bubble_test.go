package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/redisfake"
	"muxlock/internal/testing/faultconn"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// A fencedBubble is masters that execute the scripts of fencing (redisfake), behind links, in
// virtual time.
type fencedBubble struct {
	*testing.T
	servers []*redisfake.Server
	links   []*faultconn.Link
	setup   Setup
	p       *Pipeline
	changes changes

	mu  sync.Mutex // guards the following
	log []sent
}

// sent is a command as a master got it, of all masters in order.
type sent struct {
	master int
	words  []string
}

// calls reports whether it is a call of the script.
func (s sent) calls(script scripts.Script) bool {
	return s.words[0] == "EVALSHA" && s.words[1] == script.SHA1
}

func inFencedBubble(t *testing.T, n int, test func(t *testing.T, b *fencedBubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &fencedBubble{T: t, setup: Setup{Timeout: testTimeout, MaxTTL: testWait, Wait: testWait, New: true}}
		for i := range n {
			s, l := redisfake.New(), faultconn.NewLink()
			b.servers, b.links = append(b.servers, s), append(b.links, l)
			b.answer(i, nil)
			address := fmt.Sprint("m", i)
			b.setup.Masters = append(b.setup.Masters, Master{Address: address, Option: rueidis.ClientOption{
				InitAddress: []string{address},
				DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
					conn, err := s.Dial(ctx, address, d, c)
					if err != nil {
						return nil, err
					}
					return l.Wrap(conn), nil
				},
			}})
		}
		defer func() {
			if b.p != nil {
				b.p.Close()
			}
			for i, s := range b.servers {
				b.links[i].Cut()
				s.Close()
			}
			time.Sleep(time.Second)
		}()
		test(t, b)
	})
}

// overFencedMasters is inFencedBubble with a pipeline that is started.
func overFencedMasters(t *testing.T, n int, test func(t *testing.T, b *fencedBubble)) {
	t.Helper()
	inFencedBubble(t, n, func(t *testing.T, b *fencedBubble) {
		b.started()
		test(t, b)
	})
}

// answer has a master log what it gets, and a function answer in its place, if it likes to.
func (b *fencedBubble) answer(master int, answer func(words []string) any) {
	b.servers[master].Answer(func(words []string) any {
		b.mu.Lock()
		b.log = append(b.log, sent{master, slices.Clone(words)})
		b.mu.Unlock()
		if answer != nil {
			return answer(words)
		}
		return nil
	})
}

// refuse lets a master answer calls of the script with an error.
func (b *fencedBubble) refuse(master int, script scripts.Script) {
	b.answer(master, func(words []string) any {
		if (sent{master, words}).calls(script) {
			return errors.New("ERR for a test")
		}
		return nil
	})
}

// sent returns the calls of the scripts, in order.
func (b *fencedBubble) sent(of ...scripts.Script) (found []sent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.log {
		if slices.ContainsFunc(of, s.calls) {
			found = append(found, s)
		}
	}
	return found
}

// count returns how many calls of a script a master got.
func (b *fencedBubble) count(master int, script scripts.Script) (n int) {
	for _, s := range b.sent(script) {
		if s.master == master {
			n++
		}
	}
	return n
}

// started sets the masters up and returns a pipeline that has them all.
func (b *fencedBubble) started() *Pipeline {
	b.Helper()
	require.NoError(b, Init(b.Context(), b.setup))
	p, err := New(b.Context(), Config{
		Masters: b.setup.Masters, Timeout: testTimeout, Queue: 1000, Wait: b.setup.Wait, MaxTTL: b.setup.MaxTTL, Fencing: true,
		Changed: b.changes.add,
	})
	require.NoError(b, err)
	b.p = p
	return p
}

func (b *fencedBubble) register(master int, name string) string {
	b.Helper()
	return b.servers[master].Do("HGET", conn.RegistersKey, strconv.Itoa(fencing.Register(name))).(string)
}

func (b *fencedBubble) ask(op Op, name string) Outcome {
	b.Helper()
	out := outcomeOf(b, b.p, Request{Op: op, Name: name, Token: "token of " + name, TTL: testWait, Origin: OriginForeign})
	return out
}

// admitted returns the masters that vote, one bit each.
func (b *fencedBubble) admitted() (masters uint64) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	for i, m := range b.p.masters {
		if m.up && m.member.admission.Admitted() {
			masters |= 1 << i
		}
	}
	return masters
}

// tokens returns the register of a name at each master.
func (b *fencedBubble) tokens(name string) (tokens []uint64) {
	b.Helper()
	for i := range b.servers {
		n, err := strconv.ParseUint(b.register(i, name), 10, 64)
		require.NoError(b, err)
		tokens = append(tokens, n)
	}
	return tokens
}
