package pipeline

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/redisfake"
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

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
	id := membership.NewWaitClock("a set", "data", "7").ID
	m.openLocked(time.Now())
	words, _, err := redisfake.CutCommand(string(m.out[0]))
	require.NoError(t, err)
	require.Equal(t, id, words[len(words)-1])
	var answered time.Duration
	m.opened(t, "", func() {
		_, sent := clock.Shared()
		for answered-sent < 5*time.Millisecond {
			_, answered = clock.Shared()
		}
	})
	words, _, err = redisfake.CutCommand(string(m.out[0]))
	require.NoError(t, err)
	require.Equal(t, []string{"HSET", conn.SinceKey, "ticket " + id}, words[:3])
	ms, err := strconv.ParseInt(words[3], 10, 64)
	require.NoError(t, err)
	require.Greater(t, time.Duration(ms)*time.Millisecond, answered)
}

func TestDataThatWasReplacedWhileItWasOpenedIsLookedAtAgain(t *testing.T) {
	m := memberOf(membership.NewSet("a set"))
	from := m.opened(t, "", func() { m.server.Swaps++ })
	require.Zero(t, from)
	require.Equal(t, fencing.Open, m.member.admission.Next(time.Now()))
}
