package pipeline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/redisfake"
	"muxlock/pipeline/internal/conn"
)

const (
	granted = quorum.Granted
	refused = quorum.Refused
	unknown = quorum.Unknown
)

var errTest = errors.New("for a test")

// newRound returns a round over masters with one waiting call per entry, as the
// pipeline forms it.
func newRound(masters int, entries ...Request) (*round, []*call) {
	r := &round{seq: 7, entries: entries}
	for i := range masters {
		r.masters = append(r.masters, &master{p: new(Pipeline), target: target{index: i, address: fmt.Sprint("m", i)}})
		r.unasked = append(r.unasked, nil)
	}
	for range entries {
		r.calls = append(r.calls, &call{done: make(chan struct{}, 1)})
	}
	return r, append([]*call(nil), r.calls...)
}

// whole returns all of a round, as a master without native commands is sent it.
func (r *round) whole() part { return part{r: r, Load: r.in(0, "", "")} }

// woken reports whether the call has been decided, and takes its signal.
func (c *call) woken() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func entry(name string) Request {
	return Request{Op: Acquire, Name: name, Token: "t", TTL: time.Second}
}

func TestFirstVerdictWakesOnceAndLaterVotesDoNotTouchTheCall(t *testing.T) {
	for _, c := range []struct {
		name    string
		votes   []quorum.Vote
		after   int // votes until the verdict
		verdict quorum.Verdict
	}{
		{"all grant", []quorum.Vote{granted, granted, granted, granted, granted}, 3, quorum.Won},
		{"two away", []quorum.Vote{unknown, granted, unknown, granted, granted}, 5, quorum.Won},
		{"held", []quorum.Vote{refused, refused, refused, refused, refused}, 3, quorum.Denied},
		{"split", []quorum.Vote{granted, refused, granted, refused, refused}, 5, quorum.Denied},
		{"away", []quorum.Vote{unknown, unknown, granted, unknown, granted}, 4, quorum.NoQuorum},
		{"refusals may still come", []quorum.Vote{unknown, refused, unknown, unknown, granted}, 4, quorum.NoQuorum},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, calls := newRound(5, entry("a"))
			r.begin(5)
			var out Outcome
			for i, vote := range c.votes {
				if vote == unknown {
					r.unknownLocked(r.masters[i], 0, errTest)
				} else {
					r.voteLocked(r.masters[i], 0, vote)
				}
				require.Equal(t, i+1 == c.after, calls[0].woken(), "vote %d", i+1)
				if i+1 == c.after {
					out = calls[0].out
					require.Equal(t, c.verdict, out.Verdict)
					require.Equal(t, conn.InRound(7), out.Origin)
					calls[0].out = Outcome{} // the caller's again
				}
			}
			require.Equal(t, Outcome{}, calls[0].out)
			unknowns := int(out.Tally.Unknown)
			if c.verdict == quorum.Won {
				unknowns = 0
			}
			require.Len(t, out.Causes, unknowns)
			for _, cause := range out.Causes {
				require.ErrorIs(t, cause, errTest)
				require.ErrorContains(t, cause, cause.Master+": ")
			}
		})
	}
}

func TestMastersThatAreAwayHaveVotedWhenTheRoundBegins(t *testing.T) {
	for asked := range 6 {
		r, calls := newRound(5, entry("a"))
		for i := asked; i < 5; i++ {
			r.unasked[i] = errTest
		}
		r.begin(asked)
		require.Equal(t, asked < 3, calls[0].woken(), "%d asked", asked)
		if asked < 3 {
			require.Equal(t, quorum.NoQuorum, calls[0].out.Verdict)
			require.Len(t, calls[0].out.Causes, 5-asked)
		} else {
			for i := range 3 {
				require.False(t, calls[0].woken(), "after %d grants", i)
				r.voteLocked(r.masters[0], 0, granted)
			}
			require.True(t, calls[0].woken())
			require.Equal(t, quorum.Tally{Granted: 3, Unknown: uint8(5 - asked)}, calls[0].out.Tally)
		}
	}
}

func TestAbandonedCallIsNotTouched(t *testing.T) {
	r, calls := newRound(3, entry("a"))
	r.begin(3)
	require.True(t, calls[0].state.CompareAndSwap(waiting, abandoned))
	for range 3 {
		r.voteLocked(r.masters[0], 0, granted)
	}
	require.False(t, calls[0].woken())
	require.Equal(t, Outcome{}, calls[0].out)
}

// A master that granted after the token was decided may have granted a larger one.
func TestAnswerOfAMasterThatIsNotAmongThoseThatCountIsUnknown(t *testing.T) {
	raise := Request{Op: Extend, Name: "a", Token: "t", TTL: time.Second, Fence: 7, Among: 0b011}
	r, calls := newRound(3, raise)
	r.begin(3)
	for i, m := range []int{2, 0, 1} {
		require.False(t, calls[0].woken())
		r.voteLocked(r.masters[m], 0, granted)
		require.Equal(t, []quorum.Tally{{Unknown: 1}, {Unknown: 1, Granted: 1}, {Unknown: 1, Granted: 2}}[i], r.ballots[0].tally)
	}
	require.True(t, calls[0].woken())
	require.Equal(t, quorum.Won, calls[0].out.Verdict)

	r, calls = newRound(3, raise)
	r.begin(3)
	r.voteLocked(r.masters[2], 0, refused)
	r.voteLocked(r.masters[0], 0, refused)
	require.False(t, calls[0].woken(), "nor does its refusal")
	r.voteLocked(r.masters[1], 0, granted)
	require.Equal(t, quorum.NoQuorum, calls[0].out.Verdict)
	require.Contains(t, calls[0].out.Causes, MasterError{Master: "m2", Err: errNotAmong})

	raise.Among = 0
	r, calls = newRound(3, raise)
	r.begin(3)
	r.voteLocked(r.masters[2], 0, granted)
	r.voteLocked(r.masters[1], 0, granted)
	require.True(t, calls[0].woken(), "all count")
}

func TestRoundIsRecycledWhenTheLastMasterLeaves(t *testing.T) {
	r, _ := newRound(5, entry("a"))
	r.begin(4)
	for i := range 4 {
		require.NotEmpty(t, r.entries, "after %d have left", i)
		p := r.whole()
		p.fail(r.masters[i], 0, len(p.Commands), errTest)
		r.leave()
	}
	require.Empty(t, r.entries)
	require.Empty(t, r.calls)
	require.Empty(t, r.loads)
	used := r.loads[:1][0]
	require.Empty(t, used.Commands)
	require.Zero(t, used.Batch.Commands())
	require.Nil(t, used.Entries)
	require.Nil(t, r.masters)
	require.Nil(t, r.listed)
	for _, q := range r.entries[:cap(r.entries)] {
		require.Equal(t, Request{}, q, "a token stays behind in the pool")
	}
}

func TestFailedCommandsAreUnknownVotesAndNameTheirReleases(t *testing.T) {
	r, calls := newRound(1, entry("a"), Request{Op: Release, Name: "b"}, Request{Op: Extend, Name: "c"}, Request{Op: Release, Name: "d"})
	r.begin(1)
	p := r.whole()
	for range 2 { // in two pieces
		end, requests := p.fit(2)
		require.Equal(t, 2, requests)
		var releases []string
		p.releases(p.next, end, func(q *Request) { releases = append(releases, q.Name) })
		require.Equal(t, []string{[]string{"b", "d"}[p.next/2]}, releases)
		p.fail(r.masters[0], p.next, end, errTest)
		p.next = end
		require.Equal(t, 4-end, p.unsent())
	}
	for _, c := range calls {
		require.True(t, c.woken())
		require.Equal(t, []MasterError{{Master: "m0", Err: errTest}}, c.out.Causes)
	}
}

func TestPieceOfAPartIsAtLeastOneCommand(t *testing.T) {
	entries := make([]Request, 2*conn.FoldMax+100)
	for i := range entries {
		entries[i] = Request{Op: Extend, Name: fmt.Sprint(i)}
	}
	r, _ := newRound(1, entries...)
	p := r.whole()
	for _, c := range []struct{ most, end, requests int }{{1, 1, conn.FoldMax}, {2*conn.FoldMax - 1, 1, conn.FoldMax}, {2 * conn.FoldMax, 2, 2 * conn.FoldMax}, {1 << 20, 3, len(entries)}} {
		end, requests := p.fit(c.most)
		require.Equal(t, c.end, end, "at most %d", c.most)
		require.Equal(t, c.requests, requests)
	}
}

func TestCommandsCarryEveryEntryOnceAndInOrder(t *testing.T) {
	for _, n := range []int{1, conn.FoldFrom - 1, conn.FoldFrom, conn.FoldMax - 1, conn.FoldMax, conn.FoldMax + 1, 3*conn.FoldMax + 5} {
		for _, leases := range []int{1, 26, 27, 1000} {
			entries := make([]Request, n)
			for i := range entries {
				op := Release // they come first
				if i >= n/3 {
					op = []Op{Acquire, Extend}[i%2]
				}
				entries[i] = Request{Op: op, Name: fmt.Sprint("name", i), Token: fmt.Sprint("token", i), TTL: time.Duration(1+i%leases) * time.Millisecond}
			}
			requireCommands(t, entries)
		}
	}
}

func TestRequestThatGoesAloneSharesNoCommand(t *testing.T) {
	entries := make([]Request, 3*conn.FoldMax)
	for i := range entries {
		entries[i] = Request{Op: Release, Name: fmt.Sprint("name", i), Alone: i%100 == 50 || i < 20 && i%2 == 0}
	}
	l := requireCommands(t, entries)
	require.Less(t, len(l.Commands), 100, "the others are folded")
}

// requireCommands checks the commands for the entries, and returns them.
func requireCommands(t *testing.T, entries []Request) *conn.Load {
	t.Helper()
	r, _ := newRound(1, entries...)
	l := r.in(0, "", "")
	next := 0
	require.Equal(t, len(l.Commands), l.Batch.Commands())
	for c := range l.Commands {
		args, _, err := redisfake.CutCommand(string(l.BytesOf(c, c+1)))
		require.NoError(t, err)
		from, to := l.EntriesOf(c)
		require.Equal(t, next, from)
		require.Greater(t, to, from)
		next = to
		if to == from+1 {
			require.Contains(t, args, entries[from].Name)
			continue
		}
		require.GreaterOrEqual(t, to-from, conn.FoldFrom)
		require.LessOrEqual(t, to-from, conn.FoldMax)
		for i, e := range batchEntries(args) {
			q := entries[from+i]
			want := batchEntry{op: q.Op, name: q.Name, token: q.Token}
			if q.Op != Release {
				want.ms = strconv.FormatInt(q.TTL.Milliseconds(), 10)
			}
			require.Equal(t, want, e)
			require.False(t, q.Alone)
		}
	}
	require.Equal(t, len(entries), next)
	return l
}

func TestCausesAreThoseOfTheCallItself(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		for _, f := range b.fakes[:2] {
			f.answer(func(args []string) string {
				return map[string]string{"SET odd": "-ERR odd\r\n", "SET denied": "-NOPERM No permissions to access a key\r\n"}[strings.Join(args[:min(2, len(args))], " ")]
			})
		}
		blocker := side(func() { b.mustAcquire("blocker") })
		synctest.Wait()
		outs := make(map[string]Outcome)
		var done []func()
		for _, name := range []string{"odd", "denied"} {
			done = append(done, side(func() {
				out := b.tryAcquire(name)
				b.p.mu.Lock()
				outs[name] = out
				b.p.mu.Unlock()
			}))
			synctest.Wait()
		}
		blocker()
		for _, wait := range done {
			wait()
		}
		require.Equal(t, outs["odd"].Origin, outs["denied"].Origin, "one round")
		for name, out := range outs {
			require.Len(t, out.Causes, 2)
			for _, c := range out.Causes {
				require.Equal(t, name == "denied", errors.Is(c, ErrDenied), "%s: %v", name, c)
			}
			require.Equal(t, name == "denied", out.Denied != nil)
		}
	})
}
