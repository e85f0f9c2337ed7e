package pipeline

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/line"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// shows gives the fake the description of a set with three members.
func (f *fake) shows(id, member string) {
	s := fencing.NewSet(id, testWait, []string{"a", "b", "c"})
	s.Generation = fencing.Serving
	f.set(func() {
		f.data[conn.SetKey] = value{text: s.String()}
		f.data[conn.MarkKey] = value{text: membership.NewMark(f.runID, member)}
	})
}

// looks returns how often the master's set was read on all connections but the first n.
func (f *fake) looks(n int) (looks int) {
	for _, l := range f.since(n) {
		if strings.Join(l.args, " ") == "GET "+conn.SetKey {
			looks++
		}
	}
	return looks
}

func TestSetIsReadAtEachAdmissionAndNotAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		for i, f := range b.fakes {
			f.shows("x", string(rune('a'+i)))
		}
		b.started()
		for i := range 100 {
			b.cycle(fmt.Sprint(i))
			time.Sleep(time.Minute)
		}
		for _, f := range b.fakes {
			require.Equal(t, 1, f.looks(0))
			f.cut()
			b.untilUp(2)
			b.untilUp(3)
			require.Equal(t, 1, f.looks(1))
		}
		b.cycle("a")
	})
}

// While a set is being replaced, masters are seen to change one by one. All are read again until they agree.
func TestMastersOfSeveralSetsAreReadAgainUntilTheyAgree(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		last := make(map[string]error) // as reported
		var mu sync.Mutex
		b.cfg.Changed = func(master string, _ bool, cause error) {
			mu.Lock()
			defer mu.Unlock()
			last[master] = cause
		}
		for i, f := range b.fakes {
			f.shows("x", string(rune('a'+i)))
		}
		b.started()
		f := b.fakes[0]
		f.shows("y", "a")
		f.cut()
		b.untilUp(2)
		b.untilUp(3)
		require.ErrorIs(t, b.p.Stats().Masters[0].Cause, ErrConfigMismatch)
		before := len(f.commands("n"))
		b.cycle("n")
		time.Sleep(testTimeout) // the others have decided
		require.Len(t, f.commands("n"), before+1, "its release alone")
		b.p.mu.Lock()
		_, mismatched := b.p.foreignLocked()
		b.p.mu.Unlock()
		require.False(t, mismatched)
		mu.Lock()
		require.ErrorIs(t, last["m0"], ErrConfigMismatch)
		mu.Unlock()

		b.fakes[1].shows("y", "b")
		b.fakes[2].shows("y", "c")
		time.Sleep(2 * stuckPeriod)
		for _, m := range b.p.Stats().Masters {
			require.NoError(t, m.Cause)
		}
		looks := f.looks(0)
		time.Sleep(time.Minute)
		require.Equal(t, looks, f.looks(0), "they agree")
		mu.Lock()
		require.NoError(t, last["m0"])
		mu.Unlock()

		f.shows("z", "a")
		b.fakes[1].shows("z", "b")
		b.fakes[1].cut()
		b.untilUp(2)
		b.untilUp(3)
		time.Sleep(2 * stuckPeriod)
		require.ErrorIs(t, b.p.Stats().Masters[2].Cause, ErrConfigMismatch)
		b.fakes[0].shows("u", "a")
		time.Sleep(2 * stuckPeriod)
		out, err := b.acquire(b.Context(), "n")
		require.NoError(t, err)
		require.Equal(t, quorum.NoQuorum, out.Verdict)
		require.True(t, out.Mismatched)
		require.ErrorIs(t, b.p.Ready(t.Context()), ErrConfigMismatch, "at once")
	})
}

func TestGrantByPushOfAStrangerDoesNotCount(t *testing.T) {
	m := memberOf(nil)
	m.p.quorum = 1
	h := make(heard, 2)
	m.p.Listen("name", "token", h)
	m.grants("token", Answer{Kind: line.Granted})
	require.Len(t, h, 1)
	m.metLocked(membership.Look{Shown: fencing.NewSet("x", time.Second, []string{"a", "b", "c"}).String()})
	m.grants("token", Answer{Kind: line.Granted})
	require.Len(t, h, 1)
	require.ErrorIs(t, m.notVotingNow(), ErrConfigMismatch)
	_, mismatched := m.p.foreignLocked()
	require.True(t, mismatched)
	require.Zero(t, m.votesFrom())
}
