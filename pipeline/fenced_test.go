package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/internal/redisfake"
	"muxlock/internal/resp"
	"muxlock/internal/testing/faultconn"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
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

// do has a master execute a command, of a connection that no link bends.
func (b *fencedBubble) do(master int, words ...string) any {
	b.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"any"}, DialCtxFn: b.servers[master].Dial, ForceSingleClient: true, DisableCache: true, DisableRetry: true,
	})
	require.NoError(b, err)
	defer client.Close()
	reply, err := client.Do(b.Context(), client.B().Arbitrary(words[0]).Args(words[1:]...).Build()).ToAny()
	require.NoError(b, err)
	return reply
}

func (b *fencedBubble) register(master int, name string) string {
	b.Helper()
	return b.do(master, "HGET", conn.RegistersKey, strconv.Itoa(fencing.Register(name))).(string)
}

func (b *fencedBubble) ask(op Op, name string) Outcome {
	b.Helper()
	out, err := b.p.Do(b.Context(), Request{Op: op, Name: name, Token: "token of " + name, TTL: testWait, Origin: OriginForeign})
	require.NoError(b, err)
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

func TestOnlyAdmittedMastersAreReadForTheRegistersOfAnother(t *testing.T) {
	inFencedBubble(t, 5, func(t *testing.T, b *fencedBubble) {
		b.started()
		require.Equal(t, quorum.Won, b.ask(Acquire, "a").Verdict)
		for i, name := range []string{"b", "c", "d"} { // each largest at another one
			b.do(2+i, "HSET", conn.RegistersKey, strconv.Itoa(fencing.Register(name)), strconv.Itoa(fencing.MaxToken/2))
		}
		var read atomic.Uint64 // before they were admitted, one bit each
		for _, lost := range []int{0, 1} {
			b.answer(lost, func(words []string) any {
				if (sent{lost, words}).calls(scripts.ReadRegisters) {
					read.Or(1 << lost &^ b.admitted())
				}
				return nil
			})
			b.servers[lost].Restart()
		}
		time.Sleep(testWait + 3*time.Second)
		require.EqualValues(t, 0b11111, b.admitted())
		require.Zero(t, read.Load())
		for _, m := range b.p.Stats().Masters[:2] {
			require.EqualValues(t, 1, m.SetAside, "by its restart")
		}
		require.Positive(t, b.count(2, scripts.ReadRegisters))
		for lost := range 2 {
			require.Equal(t, b.register(2, "a"), b.register(lost, "a"))
			for i, name := range []string{"b", "c", "d"} {
				require.Equal(t, b.register(2+i, name), b.register(lost, name), name)
			}
		}
	})
}

func TestFencedMasterIsReportedWhenItIsKnownHowLongItWaitsAndWhenItVotes(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.started()
		time.Sleep(time.Minute)
		require.Empty(t, b.changes.take(), "all have voted since New")
		b.servers[0].Restart()
		time.Sleep(5 * time.Second)
		got := b.changes.take()
		require.Len(t, got, 2)
		require.Equal(t, []bool{false, true}, []bool{got[0].up, got[1].up})
		require.ErrorIs(t, got[1].cause, ErrRestarted)
		require.ErrorContains(t, got[1].cause, "no vote for another")
		for b.admitted() != 0b111 {
			require.Empty(t, b.changes.take())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		require.Equal(t, []change{{"m0", true, nil}}, b.changes.take())
	})
}

func TestMasterThatWaitsAndAMajorityThatIsLostAreAskedSeldom(t *testing.T) {
	for lost, period := range map[int]time.Duration{1: idlePeriod, 2: stuckPeriod} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			b.setup.Wait = time.Minute
			b.started()
			for i := range lost {
				b.servers[i].Restart()
			}
			time.Sleep(5 * time.Second)
			if lost == 2 { // none can restore another
				time.Sleep(b.setup.Wait)
			}
			asked := func() (n int) {
				b.mu.Lock()
				defer b.mu.Unlock()
				for _, s := range b.log {
					if s.master == 0 {
						n++
					}
				}
				return n
			}
			const checked = 40 * time.Second
			before := asked()
			time.Sleep(checked)
			require.InDelta(t, 3*checked/period+2*checked/idlePeriod, asked()-before, 10, "%d lost", lost)
		})
	}
}

// A reading counts like a vote.
func TestRegistersOfAnIdleMasterAreReadBehindACheck(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.started()
		var checked time.Time
		var age atomic.Int64 // of the last check, when the registers are read
		b.answer(1, func(words []string) any {
			switch {
			case words[0] == "INFO":
				checked = time.Now()
			case (sent{1, words}).calls(scripts.ReadRegisters):
				age.Store(int64(time.Since(checked)) + 1)
			}
			return nil
		})
		b.servers[0].Restart()
		time.Sleep(testWait + 3*time.Second)
		require.EqualValues(t, 0b111, b.admitted())
		require.Positive(t, age.Load(), "they were read")
		require.Less(t, time.Duration(age.Load()), tickPeriod)
	})
}

func TestWhatWasGatheredForOneSessionIsNotSentToTheNext(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.started()
		for i, l := range b.links[1:] {
			b.answer(1+i, func(words []string) any {
				if (sent{0, words}).calls(scripts.ReadRegisters) {
					l.HoldReplies(true)
				}
				return nil
			})
		}
		b.servers[0].Restart()
		held := func(times int) bool {
			return b.count(1, scripts.ReadRegisters) == times && b.count(2, scripts.ReadRegisters) == times
		}
		until := func(condition func() bool) {
			for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
				require.Less(t, time.Since(begin), time.Minute)
			}
		}
		until(func() bool { return held(1) })
		b.p.Post(Request{Op: Release, Name: "any", Token: "t"}) // the pipeline is in use, and dials at once:
		b.links[0].Cut()                                        // within the timeout, so the others are not hung
		until(func() bool { return held(2) })
		require.Equal(t, 1, b.count(0, scripts.Seed), "when it was set up")
		for _, l := range b.links[1:] {
			l.HoldReplies(false)
		}
		until(func() bool { return b.admitted() == 0b111 })
		synctest.Wait()
		require.Equal(t, 2, b.count(0, scripts.Seed), "for the second session")
	})
}

func TestRegistersThatAreDamagedRestoreNoOther(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.started()
		require.Equal(t, quorum.Won, b.ask(Acquire, "a").Verdict)
		whole := b.register(1, "another")
		register := strconv.Itoa(fencing.Register("another"))
		b.do(1, "HSET", conn.RegistersKey, register, "text")
		b.servers[0].Restart()
		time.Sleep(2 * testWait)
		require.EqualValues(t, 0b110, b.admitted())
		require.Equal(t, 1, b.count(0, scripts.Seed), "when it was set up")
		b.p.mu.Lock()
		cause := b.p.masters[0].notMember(time.Now())
		b.p.mu.Unlock()
		require.ErrorContains(t, cause, "the registers of 2 admitted masters, 1 can be read")
		b.do(1, "HSET", conn.RegistersKey, register, whole)
		time.Sleep(2 * longestReadPause)
		require.EqualValues(t, 0b111, b.admitted())
		require.Equal(t, b.register(1, "a"), b.register(0, "a"))
	})
}

func TestSetIsTakenFromAQuorumOfItsMembersOnly(t *testing.T) {
	for shown, ok := range map[int]bool{1: false, 2: true} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			require.NoError(t, Init(t.Context(), b.setup))
			for i := shown; i < 3; i++ {
				b.servers[i].Restart()
			}
			p, err := New(t.Context(), Config{
				Masters: b.setup.Masters, Timeout: testTimeout, Queue: 1000, Wait: testWait, MaxTTL: b.setup.MaxTTL, Fencing: true,
			})
			if b.p = p; !ok {
				require.ErrorContains(t, err, "1 of 3 masters show that they are members of the set, 2 are needed")
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 0b011, b.admitted())
		})
	}
}

// The answer that the script is missing comes after the release was sent.
func TestFencedAcquireIsNotRepeatedBehindItsRelease(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.started()
		var missing atomic.Bool
		missing.Store(true)
		b.answer(2, func(words []string) any {
			if (sent{2, words}).calls(scripts.FencedAcquire) && missing.Swap(false) {
				return errors.New("NOSCRIPT No matching script. Please use EVAL.")
			}
			return nil
		})
		b.p.mu.Lock()
		for _, m := range b.p.masters {
			m.window = 2 // as of one that is far
		}
		b.p.mu.Unlock()
		released := b.count(2, scripts.Release)
		b.links[2].HoldReplies(true)
		out := b.ask(Acquire, "a")
		require.Equal(t, quorum.Won, out.Verdict)
		require.Equal(t, quorum.Won, b.ask(Release, "a").Verdict)
		synctest.Wait()
		require.Equal(t, released+1, b.count(2, scripts.Release), "sent, and executed")
		b.links[2].HoldReplies(false)
		time.Sleep(time.Second)
		require.Empty(t, b.servers[2].Value("a"))
		require.Equal(t, 1, b.count(2, scripts.FencedAcquire))

		missing.Store(true)
		require.Equal(t, quorum.Won, b.ask(Acquire, "b").Verdict)
		time.Sleep(time.Second)
		require.NotEmpty(t, b.servers[2].Value("b"), "one that is not released is repeated")
	})
}

// An answer under another mark is of other data: it does not count, and the master is looked at.
func TestAnswerUnderAnotherMarkIsNoVoteAndSetsTheMasterAside(t *testing.T) {
	for _, op := range []Op{Acquire, Extend} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			b.started()
			if op == Extend {
				require.Equal(t, quorum.Won, b.ask(Acquire, "a").Verdict)
				synctest.Wait()
			}
			for i := range 2 { // a copy's: it admits the member's process, too
				b.servers[i].Set(conn.MarkKey, membership.NewMark(b.p.masters[i].server.RunID, b.p.masters[i].address))
			}
			out := b.ask(op, "a")
			require.Equal(t, quorum.NoQuorum, out.Verdict)
			require.Len(t, out.Causes, 2)
			for _, cause := range out.Causes {
				require.ErrorContains(t, cause, conn.NotMember)
			}
			synctest.Wait()
			for i, m := range b.p.Stats().Masters {
				require.Equal(t, i < 2, m.SetAside == 1, "%d: %+v", i, m)
			}
			time.Sleep(2 * time.Second)
			require.EqualValues(t, 0b111, b.admitted(), "whoever did it: it is a mark of the member's process")
			require.Equal(t, quorum.Won, b.ask(Extend, "a").Verdict)
		})
	}
}

func TestSetUpGoesToTheNextGenerationWhenAllHaveTheLast(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		begun := time.Now()
		require.NoError(t, Init(t.Context(), b.setup))
		require.Zero(t, time.Since(begun), "they are new")
		var steps []string
		for _, s := range b.sent(scripts.Open, scripts.Seed, scripts.Switch) {
			words := map[string]int{scripts.Open.SHA1: -1, scripts.Seed.SHA1: 8, scripts.Switch.SHA1: 7}
			step := "open"
			if at := words[s.words[1]]; at > 0 {
				set, err := fencing.ParseSet(s.words[at])
				require.NoError(t, err)
				step = strconv.Itoa(set.Generation)
			}
			steps = append(steps, step)
		}
		require.Equal(t, []string{"open", "open", "open", "0", "0", "0", "1", "1", "1", "2", "2", "2"}, steps)
		for i := range 3 {
			n, err := strconv.ParseUint(b.register(i, "a"), 10, 64)
			require.NoError(t, err)
			require.Equal(t, fencing.FirstToken(begun.Unix()), n, "above those of a set that is forgotten")
		}
	})
}

func TestSetUpWatchesMastersThatAreNotNew(t *testing.T) {
	for what, disturb := range map[string]func(*redisfake.Server){"not disturbed": nil, "restarted": (*redisfake.Server).Restart} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			b.setup.New = false
			begun := time.Now()
			if disturb != nil {
				time.AfterFunc(b.setup.Wait-time.Millisecond, func() { disturb(b.servers[1]) })
			}
			err := Init(t.Context(), b.setup)
			require.Equal(t, b.setup.Wait, time.Since(begun).Truncate(time.Millisecond), what)
			if disturb == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "m1")
			require.Zero(t, b.count(0, scripts.Seed))
			require.Empty(t, b.servers[0].Value(conn.SetKey))
		})
	}
}

// memberOf returns a master of a set, without a connection.
func memberOf(set *membership.Set) *master {
	p := &Pipeline{set: set}
	m := &master{p: p, target: target{address: "m"}}
	m.server.RunID, m.server.ReplID, m.server.Wait = "run", "data", 10*time.Second
	p.masters = []*master{m}
	return m
}

func TestMarkBesideAnotherDescriptionIsNone(t *testing.T) {
	ours := fencing.NewSet("id", time.Second, []string{"m"}).Next([]string{"m"})
	mark := membership.NewMark("run", "m")
	for what, c := range map[string]struct {
		shown           string
		admits, foreign bool
	}{
		"ours":                           {ours.String(), true, false},
		"none":                           {"", false, false},
		"an earlier one":                 {fencing.NewSet("id", time.Second, []string{"m"}).String(), false, false},
		"a later one":                    {ours.Next([]string{"m"}).String(), false, true},
		"of another set":                 {fencing.NewSet("another", time.Second, []string{"m"}).String(), false, true},
		"that no version known here has": {"muxlock-set-3 id 0 1000 4096 m", false, true},
	} {
		m := memberOf(membership.NewSet(ours.String()))
		m.metLocked(membership.Look{Shown: c.shown, Mark: mark})
		require.Equal(t, c.admits, m.member.admission.Admitted(), what)
		require.Equal(t, c.foreign, m.p.set.Foreign(m.member.Shown) != nil, what)
		if c.foreign {
			require.ErrorIs(t, m.p.set.Foreign(m.member.Shown), ErrConfigMismatch, what)
		}
		m.nextLocked(time.Now())
		require.Equal(t, !c.admits && !c.foreign, len(m.out) > 0, "%s: it is opened", what)
	}
}

// opened has a master answer that it was opened, and returns from when on it may be seeded. Between
// is called while that is under way.
func (m *master) opened(t *testing.T, since string, between func()) (from time.Time) {
	t.Helper()
	m.openLocked(time.Now())
	m.out = nil
	if between != nil {
		between()
	}
	sent := m.flights[len(m.flights)-1].maintenance
	require.NoError(t, sent.answered([]resp.Reply{{Kind: resp.Text, Text: "ticket\n" + since}}))
	_, from = m.member.admission.Ticket()
	return from
}

func TestWaitThatASharedClockKnowsGoesOn(t *testing.T) {
	id, _ := clock.Shared()
	if id == "" {
		t.Skip("no clock that processes share")
	}
	is := func(text string) func() string { return func() string { return text } }
	ago := func(d time.Duration) func() string {
		return func() string {
			_, now := clock.Shared()
			return strconv.FormatInt((now-d).Milliseconds()-1, 10) // not later: a negative one is rounded up
		}
	}
	for what, c := range map[string]struct {
		since func() string
		left  time.Duration
		noted bool
	}{
		"not known":          {is(""), 10 * time.Second, true},
		"for three seconds":  {ago(3 * time.Second), 7 * time.Second, false},
		"for long":           {ago(time.Hour), 10*time.Second - time.Hour, false},
		"since just now":     {ago(0), 10 * time.Second, false},
		"only in the future": {ago(-time.Hour), 10 * time.Second, false},
		"what is no number":  {is("yesterday"), 10 * time.Second, true},
		"what is no integer": {is("1.5"), 10 * time.Second, true},
	} {
		m := memberOf(membership.NewSet("a set"))
		begun := time.Now()
		from := m.opened(t, c.since(), nil)
		require.WithinRange(t, from, begun.Add(c.left-100*time.Millisecond), time.Now().Add(c.left), what)
		require.Equal(t, c.noted, len(m.out) == 1 && bytes.Contains(m.out[0], []byte("HSET")), what)
	}
}

func TestWaitIsNotedByTheClockAfterTheAnswer(t *testing.T) {
	if id, _ := clock.Shared(); id == "" {
		t.Skip("no clock that processes share")
	}
	m := memberOf(membership.NewSet("a set"))
	m.member.Swaps = "7"
	id := membership.NewWaitClock("data", "7").ID
	m.openLocked(time.Now())
	words, err := redisfake.ReadCommand(bufio.NewReader(bytes.NewReader(m.out[0])))
	require.NoError(t, err)
	require.Equal(t, id, words[len(words)-1])
	var answered time.Duration
	m.opened(t, "", func() {
		_, sent := clock.Shared()
		for answered-sent < 5*time.Millisecond {
			_, answered = clock.Shared()
		}
	})
	words, err = redisfake.ReadCommand(bufio.NewReader(bytes.NewReader(m.out[0])))
	require.NoError(t, err)
	require.Equal(t, []string{"HSET", conn.SinceKey, "ticket " + id}, words[:3])
	ms, err := strconv.ParseInt(words[3], 10, 64)
	require.NoError(t, err)
	require.Greater(t, time.Duration(ms)*time.Millisecond, answered)
}

func TestWaitClockNamesMachineDataAndSwaps(t *testing.T) {
	id, _ := clock.Shared()
	if id == "" {
		t.Skip("no clock that processes share")
	}
	c := membership.NewWaitClock("data", "7")
	require.Equal(t, id+" data 7", c.ID)
	for _, other := range []membership.WaitClock{membership.NewWaitClock("other", "7"), membership.NewWaitClock("data", "8"), membership.NewWaitClock("data", "")} {
		require.NotEqual(t, c.ID, other.ID)
	}
	_, known := membership.WaitClock{}.Passed("5")
	require.False(t, known, "without a clock nothing is known")
}

func TestDataThatWasReplacedWhileItWasOpenedIsLookedAtAgain(t *testing.T) {
	m := memberOf(membership.NewSet("a set"))
	from := m.opened(t, "", func() { m.server.Swaps++ })
	require.Zero(t, from)
	require.Equal(t, fencing.Open, m.member.admission.Next(time.Now()))
}

func TestRegisterThatIsMissingIsNoZero(t *testing.T) {
	all := func(change func(words []string) []string) error {
		var words []string
		for i := range fencing.Registers {
			words = append(words, strconv.Itoa(i), "5")
		}
		var registers [fencing.Registers]uint64
		var text bytes.Buffer
		for _, w := range change(words) {
			text.WriteString(w + " ")
		}
		return membership.ParseRegisters(text.String(), &registers)
	}
	require.NoError(t, all(func(w []string) []string { return w }))
	for what, change := range map[string]func(w []string) []string{
		"missing":   func(w []string) []string { return w[2:] },
		"none":      func([]string) []string { return nil },
		"text":      func(w []string) []string { w[1] = "text"; return w },
		"negative":  func(w []string) []string { w[1] = "-1"; return w },
		"too large": func(w []string) []string { w[1] = strconv.FormatUint(fencing.MaxToken+1, 10); return w },
		"another":   func(w []string) []string { w[0] = strconv.Itoa(fencing.Registers); return w },
		"twice":     func(w []string) []string { w[0] = "1"; return w },
	} {
		require.ErrorIs(t, all(change), ErrRegister, what)
	}
}

func TestSetUpWatchesThatMastersStayMasters(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.setup.New = false
		half := time.Now().Add(b.setup.Wait / 2)
		b.answer(2, func(words []string) any {
			if len(words) == 2 && words[0] == "INFO" && time.Now().After(half) {
				return dataSet("slave", "data", "-1")
			}
			return nil
		})
		err := Init(t.Context(), b.setup)
		require.ErrorIs(t, err, membership.ErrChanged)
		require.ErrorContains(t, err, "m2")
		require.Zero(t, b.count(0, scripts.Seed))
	})
}

func TestSetUpNeedsAServerBehindEachAddress(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		twice := b.setup.Masters[0]
		twice.Address = "m1"
		b.setup.Masters[1] = twice
		err := Init(t.Context(), b.setup)
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorContains(t, err, "m0 and m1 are one server")
		require.Empty(t, b.sent(scripts.Open))
	})
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

func TestRecoveryBeginsAboveWhatResourcesAndMastersHave(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		require.NoError(t, Init(t.Context(), b.setup))
		const above = 1 << 52
		b.setup.Recover, b.setup.Above = true, above
		larger := uint64(above>>16 + 2*membership.RecoveryMargin)
		b.do(1, "HSET", conn.RegistersKey, strconv.Itoa(fencing.Register("a")), strconv.FormatUint(larger, 10))
		require.NoError(t, Init(t.Context(), b.setup))
		least := uint64(above>>16 + 1 + membership.RecoveryMargin)
		require.Equal(t, []uint64{larger, larger, larger}, b.tokens("a"))
		require.Equal(t, []uint64{least, least, least}, b.tokens("another"))
		b.setup.Above = 1 << 53
		require.ErrorIs(t, Init(t.Context(), b.setup), ErrRefused, "no fence is so large")
	})
}

// What was recovered at the first master is the floor of the others, whoever goes on.
func TestSetUpThatIsGoneOnWithKeepsTheFloorOfWhatWasBegun(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.setup.Recover, b.setup.Above = true, 1<<52
		b.answer(1, func(words []string) any {
			if (sent{1, words}).calls(scripts.Seed) {
				return errors.New("ERR for a test")
			}
			return nil
		})
		require.ErrorContains(t, Init(t.Context(), b.setup), "for a test")
		b.answer(1, nil)
		b.setup.Recover, b.setup.Above = false, 0
		require.NoError(t, Init(t.Context(), b.setup))
		require.Equal(t, slices.Repeat([]uint64{1<<36 + 1 + membership.RecoveryMargin}, 3), b.tokens("a"))
	})
}

func TestReplacementSwitchesInTheOrderOfAddresses(t *testing.T) {
	inFencedBubble(t, 4, func(t *testing.T, b *fencedBubble) {
		all := b.setup.Masters
		b.setup.Masters = []Master{all[2], all[1], all[0]}
		require.NoError(t, Init(t.Context(), b.setup))
		before := len(b.sent(scripts.Switch))
		for range 2 { // again: there is nothing left to do
			require.NoError(t, Replace(t.Context(), b.setup, "m1", all[3]))
			var order []int
			for _, s := range b.sent(scripts.Switch)[before:] {
				order = append(order, s.master)
			}
			require.Equal(t, []int{0, 2}, order)
		}
	})
}

// A server that was restarted from its own snapshot has the mark of an earlier process.
func TestReplacementBesideARestartedMasterIsRefused(t *testing.T) {
	inFencedBubble(t, 4, func(t *testing.T, b *fencedBubble) {
		joins := b.setup.Masters[3]
		b.setup.Masters = b.setup.Masters[:3]
		require.NoError(t, Init(t.Context(), b.setup))
		set, switches := b.servers[0].Value(conn.SetKey), len(b.sent(scripts.Switch))
		b.servers[0].Restart()
		b.servers[0].Set(conn.SetKey, set)
		b.servers[0].Set(conn.MarkKey, membership.NewMark("an earlier process", "m0"))
		require.ErrorIs(t, Replace(t.Context(), b.setup, "m1", joins), ErrMembersLost)
		require.ErrorIs(t, Init(t.Context(), b.setup), ErrMembersLost)
		require.Len(t, b.sent(scripts.Switch)[switches:], 0)
	})
}
