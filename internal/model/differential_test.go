package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redistest"
	"muxlock/scripts"
)

// A server is a real one that the same is done to as to a master of the model.
type server struct {
	t      *testing.T
	client rueidis.Client
	sha    map[string]string // by script, where it is not the real one
}

// newServer starts a server with the real scripts.
func newServer(t *testing.T) *server {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: redistest.Addrs(redistest.Masters(t, 1)), ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysRESP2: true,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s := &server{t, client, make(map[string]string)}
	for _, script := range scripts.All(true) {
		require.Equal(t, script.SHA1, s.text("SCRIPT", "LOAD", script.Source))
	}
	return s
}

func (s *server) text(args ...string) string {
	s.t.Helper()
	reply, err := s.client.Do(context.Background(), s.client.B().Arbitrary(args[0]).Args(args[1:]...).Build()).ToAny()
	switch {
	case rueidis.IsRedisNil(err):
		return ""
	case err != nil:
		class, _, _ := strings.Cut(err.Error(), " ")
		require.Equal(s.t, "MUXLOCKSET", class, "%q: %v", args, err)
		return class
	}
	return fmt.Sprint(reply)
}

// call calls a script with so many keys.
func (s *server) call(script scripts.Script, keys int, args ...string) string {
	s.t.Helper()
	sha := script.SHA1
	if other, ok := s.sha[script.Name]; ok {
		sha = other
	}
	return s.text(append([]string{"EVALSHA", sha, strconv.Itoa(keys)}, args...)...)
}

// unit is a tick in milliseconds: so long that the time that a test takes does not matter.
const unit = 100_000

// number writes a number of the model as the servers have it: 0 is none.
func number[N int | uint8](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

func digit(b bool) string { return map[bool]string{true: "1", false: "0"}[b] }

// shown describes a master of the model as state does the server.
func (m *master) shown() string {
	text := fmt.Sprintf("%s %s %s %s", number(m.set), number(m.mark), number(m.ticket), number(m.register))
	for _, l := range m.locks {
		text += fmt.Sprintf(" %s/%d", number(l.owner), l.until)
	}
	return text
}

func (s *server) state() string {
	text := fmt.Sprintf("%s %s %s %s", s.text("GET", "set"), s.text("GET", "mark"), s.text("GET", "ticket"), strings.TrimPrefix(s.text("HGET", "registers", "0"), "0"))
	for name := range maxNames {
		ms, err := strconv.Atoi(s.text("PTTL", fmt.Sprint("lock", name)))
		require.NoError(s.t, err)
		text += fmt.Sprintf(" %s/%d", s.text("GET", fmt.Sprint("lock", name)), (max(ms, 0)+unit/2)/unit)
	}
	return text
}

// compare does the same to both, at random, and returns where they differ.
func compare(s *server, seed uint64, steps int) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := &master{run: 1}
	s.text("FLUSHALL")
	draw := func(n uint8) uint8 { return uint8(rng.IntN(int(n))) }
	for range steps {
		set, run, name, owner, hint, until := 1+draw(3), 1+draw(2), int(draw(maxNames)), 1+draw(3), draw(8), 1+draw(4)
		other, ticket, void := draw(4), 1+draw(3), draw(2) == 1
		if draw(2) == 0 {
			set = max(m.set, preparing) // mostly what is there
		}
		if draw(2) == 0 {
			other, ticket = m.set, max(m.ticket, 1)
		}
		lock, ttl := fmt.Sprint("lock", name), strconv.Itoa(int(until)*unit)
		var what, here, there string
		switch what = []string{"acquire", "acquire", "extend", "extend", "release", "open", "open", "seed", "seed", "read", "switch", "flush", "expire"}[draw(13)]; what {
		case "acquire":
			proposal := strconv.Itoa(int(hint) + 1)
			if there = s.call(scripts.FencedAcquire, 3, "set", "registers", lock, number(set), number(owner), "0", proposal, ttl, "1"); there == "" {
				there = proposal // granted with it
			}
			token, granted, member := m.acquire(set, name, owner, hint, until)
			here = "MUXLOCKSET"
			if member {
				here = strconv.Itoa(int(token))
			}
			if granted != (token > 0) {
				here = "grant without a token"
			}
		case "extend":
			there = s.call(scripts.FencedExtend, 3, "set", "registers", lock, number(set), number(owner), "0", strconv.Itoa(int(hint)), ttl, "1")
			there, _, _ = strings.Cut(there, "\n")
			ours, member := m.extend(set, name, owner, hint, until)
			if here = digit(ours); !member {
				here = "e"
			}
		case "release":
			there = s.call(scripts.Release, 1, lock, number(owner))
			if here = digit(m.release(name, owner)); there == "-1" {
				there = "0"
			}
		case "open":
			there = s.call(scripts.Open, 3, "set", "mark", "ticket", number(other), number(run), number(ticket), digit(void))
			here = number(m.open(other, run, ticket, void))
		case "seed":
			there = s.call(scripts.Seed, 4, "set", "mark", "ticket", "registers", number(set), number(run), number(ticket), number(other), strconv.Itoa(int(hint)))
			here = digit(m.seed(set, run, ticket, other, hint))
		case "read":
			there = s.call(scripts.ReadRegisters, 3, "set", "mark", "registers", number(set), number(run))
			here = "MUXLOCKSET"
			if register, admitted := m.read(set, run); admitted {
				_, there, _ = strings.Cut(there, " ")
				there, here = strings.TrimPrefix(there, "0"), number(register)
			}
		case "switch":
			other = max(other, preparing)
			there = s.call(scripts.Switch, 1, "set", number(set), number(other))
			here = digit(m.switchSet(set, other))
		case "flush":
			s.text("FLUSHALL")
			m.flush()
		case "expire":
			s.text("DEL", lock)
			m.release(name, m.locks[name].owner)
		}
		if here != there {
			return fmt.Errorf("seed %d: %s: the model answers %q, the server %q", seed, what, here, there)
		}
		if here, there := m.shown(), s.state(); here != there {
			return fmt.Errorf("seed %d: %s leaves %q in the model, %q at the server", seed, what, here, there)
		}
	}
	return nil
}

func TestMasterAgreesWithTheScripts(t *testing.T) {
	s := newServer(t)
	seed := rand.Uint64()
	t.Logf("seeds from %d", seed)
	for i := range uint64(20) {
		require.NoError(t, compare(s, seed+i, 100))
	}
}

func TestComparisonSeesAnotherScript(t *testing.T) {
	s := newServer(t)
	for name, edit := range map[string]struct {
		script   scripts.Script
		old, new string
	}{
		"acquire ignores the set":              {scripts.FencedAcquire, "redis.call('GET', KEYS[1]) ~= ARGV[1]", "false"},
		"acquire ignores the hint":             {scripts.FencedAcquire, "if value >= proposed then", "if true then"},
		"extend ignores the set":               {scripts.FencedExtend, "redis.call('GET', KEYS[1]) == ARGV[1]", "true"},
		"extend does not raise":                {scripts.FencedExtend, "if value < token", "if false"},
		"extend takes another's":               {scripts.FencedExtend, "if reply ~= ARGV[1 + j]", "if not reply"},
		"open keeps the mark":                  {scripts.Open, "redis.call('DEL', KEYS[2])", ""},
		"open replaces the ticket":             {scripts.Open, ", 'NX'", ""},
		"open believes what is void":           {scripts.Open, " and ARGV[4] ~= '1'", ""},
		"seed ignores the ticket":              {scripts.Seed, "redis.call('GET', KEYS[3]) ~= ARGV[3]", "false"},
		"seed lowers":                          {scripts.Seed, "value >= tonumber(ARGV[i])", "false"},
		"seed keeps the ticket":                {scripts.Seed, "redis.call('DEL', KEYS[3])", ""},
		"registers are read without admission": {scripts.ReadRegisters, " or redis.call('GET', KEYS[2]) ~= ARGV[2]", ""},
		"switch ignores what is there":         {scripts.Switch, "now == ARGV[1]", "now"},
	} {
		broken := strings.Replace(edit.script.Source, edit.old, edit.new, 1)
		require.NotEqual(t, edit.script.Source, broken, name)
		s.sha = map[string]string{edit.script.Name: s.text("SCRIPT", "LOAD", broken)}
		var err error
		for seed := uint64(1); err == nil && seed <= 20; seed++ {
			err = compare(s, seed, 100)
		}
		require.Error(t, err, name)
	}
}
