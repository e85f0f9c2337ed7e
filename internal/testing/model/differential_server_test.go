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

	"muxlock/internal/testing/draw"
	"muxlock/internal/testing/redistest"
	"muxlock/scripts"
)

// A server is a real server that gets the same operations as a master of the model.
type server struct {
	t      *testing.T
	client rueidis.Client
}

// newServer starts a server with the real scripts.
func newServer(t *testing.T) *server {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: redistest.Addrs(redistest.Masters(t, 1)), ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysRESP2: true,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s := &server{t, client}
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
		return class
	}
	return fmt.Sprint(reply)
}

// call calls a script with so many keys.
func (s *server) call(script scripts.Script, keys int, args ...string) string {
	s.t.Helper()
	return s.text(append([]string{"EVALSHA", script.SHA1, strconv.Itoa(keys)}, args...)...)
}

// unit is a tick in milliseconds, so long that the duration of a test does not matter.
const unit = 100_000

// number writes a number of the model as the servers have it: 0 is none.
func number[N int | uint8](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

func digit(b bool) string { return map[bool]string{true: "1", false: "0"}[b] }

// written returns a mark as the server stores it, with a nonce of 24 bytes.
func (k mark) written() string {
	if k.nonce == 0 {
		return ""
	}
	return fmt.Sprintf("%024d %d %s", k.nonce, k.run, map[bool]string{false: "m", true: "another"}[k.copied])
}

// clientsClock names the clock that the model's clients share, as the scripts store it.
const clientsClock = "clock"

// shown describes a master of the model as state does the server.
func (m *master) shown() string {
	text := fmt.Sprintf("%s %s %s %s", number(m.set), m.mark.written(), m.ticket.written(), number(m.since))
	if m.registers {
		text += fmt.Sprint(" ", m.register)
	}
	for _, l := range m.locks {
		text += fmt.Sprintf(" %s/%d", number(l.owner), l.until)
	}
	return text
}

func (s *server) state() string {
	ticket := s.text("GET", "ticket")
	text := fmt.Sprintf("%s %s %s %s", s.text("GET", "set"), s.text("GET", "mark"), ticket, s.text("HGET", "since", ticket+" "+clientsClock))
	if register := s.text("HGET", "registers", "0"); register != "" {
		text += " " + register
	}
	for name := range maxNames {
		ms, err := strconv.Atoi(s.text("PTTL", fmt.Sprint("lock", name)))
		require.NoError(s.t, err)
		text += fmt.Sprintf(" %s/%d", s.text("GET", fmt.Sprint("lock", name)), (max(ms, 0)+unit/2)/unit)
	}
	return text
}

// compare runs the same random operations on both and returns the first difference.
func compare(s *server, seed uint64, steps int) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := &master{run: 1}
	s.text("FLUSHALL")
	draw := func(n uint8) uint8 { return uint8(rng.IntN(int(n))) }
	for range steps {
		set, run, name, owner, hint, until := 1+draw(3), 1+draw(2), int(draw(maxNames)), 1+draw(3), draw(8), 1+draw(4)
		other := draw(4)
		anyMark := func(there mark) mark {
			if draw(2) == 0 {
				return there
			}
			return mark{1 + draw(3), 1 + draw(2), draw(4) == 0}
		}
		found, ticket, next := anyMark(m.mark), anyMark(m.ticket), anyMark(m.mark)
		if ticket.nonce == 0 {
			ticket = mark{nonce: 1, run: run}
		}
		if draw(2) == 0 {
			set = max(m.set, preparing) // mostly the master's own set
		}
		if draw(2) == 0 {
			other = m.set
		}
		if there := m.locks[name].owner; draw(2) == 0 && there != 0 {
			owner = there
		}
		lock, ttl := fmt.Sprint("lock", name), strconv.Itoa(int(until)*unit)
		var what, here, there string
		switch what = []string{"acquire", "acquire", "extend", "extend", "release", "open", "open", "note", "seed", "seed", "read", "switch", "flush", "forget", "expire"}[draw(15)]; what {
		case "acquire":
			proposal := strconv.Itoa(int(hint) + 1)
			there = s.call(scripts.FencedAcquire, 4, "set", "mark", "registers", lock, number(set), number(owner), "0", proposal, ttl, "1")
			before, registers := m.mark.written(), m.registers
			token, granted, member := m.acquire(set, name, owner, hint, until)
			switch {
			case !member:
				here = "MUXLOCKSET"
			case !granted && m.locks[name].owner == 0 && !registers:
				here = before + "\ne\nMUXLOCKREGISTER register 0 holds no token"
			case granted && strconv.Itoa(int(token)) == proposal:
				here = before + "\n"
			default:
				here = before + "\n" + strconv.Itoa(int(token))
			}
		case "extend":
			if draw(2) == 0 {
				hint = m.register + 1 // otherwise few hints would exceed a grown register
			}
			there = s.call(scripts.FencedExtend, 4, "set", "mark", "registers", lock, number(set), number(owner), "0", strconv.Itoa(int(hint)), ttl, "1")
			lines := strings.SplitN(there, "\n", 3)
			there = strings.Join(lines[:2], "\n")
			had := m.locks[name].owner == owner
			ours, member := m.extend(set, name, owner, hint, until)
			if here = m.mark.written() + "\n" + digit(ours); !member || had && !ours {
				here = m.mark.written() + "\ne"
			}
		case "release":
			there = s.call(scripts.Release, 1, lock, number(owner))
			if here = digit(m.release(name, owner)); there == "-1" {
				there = "0"
			}
		case "open":
			there = s.call(scripts.Open, 4, "set", "mark", "ticket", "since", number(other), found.written(), ticket.written(), clientsClock)
			since := m.since
			if here = m.open(other, found, ticket).written(); here != "" {
				if m.ticket == ticket && m.since == 0 {
					since = 0
				}
				here += "\n" + number(since)
			}
		case "note":
			if m.ticket.nonce != 0 {
				m.since = until
				there = s.text("HSET", "since", m.ticket.written()+" "+clientsClock, number(until))
				here = there
			}
		case "seed":
			there = s.call(scripts.Seed, 5, "set", "mark", "ticket", "since", "registers", number(set), ticket.written(), number(other), strconv.Itoa(int(hint)))
			here = digit(m.seed(set, ticket, other, hint))
		case "read":
			there = s.call(scripts.ReadRegisters, 3, "set", "mark", "registers", number(set), found.written())
			here = "MUXLOCKSET"
			if register, admitted := m.read(set, found); admitted {
				_, there, _ = strings.Cut(there, " ")
				if here = ""; m.registers {
					here = strconv.Itoa(int(register))
				}
			}
		case "switch":
			other, found = max(other, preparing), markOr(found)
			next = markOr(next)
			there = s.call(scripts.Switch, 2, "set", "mark", number(set), found.written(), number(other), next.written())
			here = digit(m.change(set, found, other, next))
		case "forget":
			s.text("DEL", "registers")
			m.registers, m.register = false, 0
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

// markOr returns a mark, or an arbitrary one instead of none.
func markOr(k mark) mark {
	if k.nonce == 0 {
		return mark{nonce: 1, run: 1}
	}
	return k
}

func TestMasterRuleAgreesWithTheScripts(t *testing.T) {
	s := newServer(t)
	seed := draw.Seed(t)
	for i := range uint64(20) {
		require.NoError(t, compare(s, seed+i, 100))
	}
}
