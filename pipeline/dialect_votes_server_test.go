package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
	"muxlock/internal/testing/draw"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline/internal/conn"
)

// A lockServer is a real server or a fake. The tests compare rounds on both.
type lockServer struct {
	do    func(args ...string)
	ask   func(*conn.Batch) []resp.Reply
	value func(name string) string // "" missing, and whatever else identifies it
}

var comparedNames = append(numbered(30), "held0", "held1")

// votesOf returns the votes on random rounds in a dialect, and what they leave. As in rounds,
// releases come first; a name is acquired once, since the order among acquires may change.
func (s lockServer) votesOf(d conn.Dialect, seed uint64, names []string) (found []string) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, name := range names {
		s.do("DEL", name)
	}
	for i := range 2 {
		s.do("SET", fmt.Sprint("held", i), "another", "NX", "PX", "3600000")
	}
	for range 10 {
		var entries []Request
		for range rng.IntN(20) {
			q := Request{Op: Release, Name: names[rng.IntN(len(names))], Token: fmt.Sprint("token", rng.IntN(3))}
			if !slices.Contains(entries, q) { // a run answers yes to both
				entries = append(entries, q)
			}
		}
		var q Request
		left := 0 // of a set
		for n, i := range rng.Perm(len(names))[rng.IntN(len(names)):] {
			if left--; left <= 0 {
				q = Request{Op: Acquire, TTL: hour, Contended: rng.IntN(20) == 0}
				if rng.IntN(20) == 0 {
					q.TTL = 2 * hour
				}
				if left = 1 + rng.IntN(4); rng.IntN(2) == 0 {
					q.Joint = uint64(n + 1)
				}
			}
			if q.Joint == 0 {
				left = 0
			}
			q.Name, q.Token = names[i], fmt.Sprint("token", rng.IntN(3))
			entries = append(entries, q)
		}
		r, _ := newRound(1, entries...)
		r.begin(1)
		p := part{r: r, Load: r.in(d, "", "")}
		a := p.read(r.masters[0], 0, s.ask(&p.Batch))
		for len(a.refused) > 0 {
			p = p.repeat(r.masters[0], a.refused, true, nil)
			a = p.read(r.masters[0], 0, s.ask(&p.Batch))
		}
		for i, b := range r.ballots {
			found = append(found, fmt.Sprint(entries[i].Op, entries[i].Name, entries[i].Token, b.tally))
		}
	}
	for _, name := range names {
		found = append(found, name+" is "+s.value(name))
	}
	return found
}

func TestVotesAreTheSameInEveryDialectOfAFake(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		f.native = conn.Msetex | conn.Delex | conn.Delifeq
		s, err := conn.Dial(t.Context(), b.cfg.Masters[0].Option, testTimeout, 0)
		require.NoError(t, err)
		defer s.Close()
		requireSameVotes(t, s, comparedNames, func(name string) string {
			text, _ := f.getLocked(name)
			return text
		}, conn.Msetex, conn.Delex, conn.Delifeq, allNative)
	})
}

func TestVotesAreTheSameInEveryDialectOfAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	m := redistest.Masters(t, 1)[0]
	s, err := conn.Dial(t.Context(), conn.Limited(rueidis.ClientOption{InitAddress: []string{m.Addr()}}), 5*time.Second, 0)
	require.NoError(t, err)
	defer s.Close()
	trial := conn.NewNativeTrial("trial", "t")
	replies, err := s.Ask(&trial, nil)
	require.NoError(t, err)
	native := conn.ReadNativeTrial(replies, "t")
	if native == 0 {
		t.Log("the server has none of the commands: emulated only")
	}
	redistest.Command(t, m, "RPUSH", "list", "x")
	names := append([]string{"list"}, comparedNames...)
	requireSameVotes(t, s, names, func(name string) string {
		if name == "list" {
			return redistest.Command(t, m, "TYPE", name).(string)
		}
		return fmt.Sprint(redistest.Command(t, m, "GET", name), redistest.Command(t, m, "PTTL", name).(int64)/1_000_000)
	}, native, native&^conn.Msetex)
}

func requireSameVotes(t *testing.T, s *conn.Session, names []string, value func(string) string, dialects ...conn.Dialect) {
	t.Helper()
	server := lockServer{value: value, ask: func(b *conn.Batch) []resp.Reply {
		replies, err := s.Ask(b, nil)
		require.NoError(t, err)
		return replies
	}}
	server.do = func(args ...string) {
		if args[1] == "list" {
			return
		}
		var b conn.Batch
		b.Command(args...)
		server.ask(&b)
	}
	var load conn.Batch
	load.LoadScripts(false)
	server.ask(&load)
	first := draw.Seed(t)
	for seed := first; seed != first+20; seed++ {
		want := server.votesOf(0, seed, names)
		for _, d := range dialects {
			require.Equal(t, want, server.votesOf(d, seed, names), "seed %d, dialect %b", seed, d)
		}
	}
}
