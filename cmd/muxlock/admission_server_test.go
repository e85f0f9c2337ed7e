package main

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/groups"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/faultconn"
	"muxlock/internal/testing/redistest"
)

const shortWait = 5042 * time.Millisecond // of a master that lost its data, with leases of at most 4 s

// A fencedSet is set up for fencing. Its leases are so short that a master that lost its data votes again after shortWait.
type fencedSet struct {
	*set
	cfg engine.Config
}

func newFencedSet(t *testing.T) fencedSet {
	t.Helper()
	s := fenced(t, 3, "4s")
	return fencedSet{s.with("MUXLOCK_MAX_TTL=4s"), engine.Config{Masters: redistest.Addrs(s.masters), MaxTTL: 4 * time.Second, MasterTimeout: 3900 * time.Millisecond}}
}

// fenced starts masters and sets them up for fencing. maxTTL is not among the settings.
func fenced(t *testing.T, n int, maxTTL string) *set {
	t.Helper()
	return fencedSetOf(t, redistest.Masters(t, n), maxTTL)
}

func fencedSetOf(t *testing.T, masters []*redisserver.Server, maxTTL string) *set {
	t.Helper()
	s := setOf(masters)
	s.ok(t, "masters init --master-timeout 3900ms --max-ttl "+maxTTL)
	return s.with("MUXLOCK_NEW_MASTERS=", "MUXLOCK_FENCING=true")
}

// exec runs a command, and returns its fence and muxlock's messages.
func (s fencedSet) exec(t *testing.T) (fence uint64, said string) {
	t.Helper()
	stdout, stderr, code := s.run(t, "exec --ttl 4s name -- sh -c", "echo $MUXLOCK_FENCE")
	require.Zero(t, code, stderr)
	fence, err := strconv.ParseUint(strings.TrimSpace(stdout), 10, 64)
	require.NoError(t, err)
	return fence, stderr
}

func (s fencedSet) members(t *testing.T) []admin.Member {
	t.Helper()
	members, err := admin.Members(t.Context(), s.cfg)
	require.NoError(t, err)
	for _, m := range members {
		require.NoError(t, m.Err)
	}
	return members
}

func restart(t *testing.T, m *redisserver.Server) {
	t.Helper()
	require.NoError(t, m.Kill())
	require.NoError(t, m.Restart(t.Context()))
}

func TestARunOfExecBeginsTheWaitThatALaterOneEnds(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	restart(t, s.masters[1])
	_, said := s.exec(t)
	require.Contains(t, said, "muxlock: locked without "+s.masters[1].Addr()+": lost its data or was restarted")
	require.Contains(t, said, "muxlock masters repair")
	begun := s.members(t)[1]
	require.True(t, begun.Waits)
	require.Less(t, begun.Left, shortWait)
	await.Equal(t, 0, func() any { return s.members(t)[1].Left }, "with nobody there")
	require.False(t, s.members(t)[1].Admitted)
	s.exec(t)
	require.True(t, s.members(t)[1].Admitted)
	_, said = s.exec(t)
	require.Empty(t, said)
}

func TestTheEndOfARunDoesNotCutAStepOff(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	restart(t, s.masters[1])
	links, byAddress := faultconn.To(t, redistest.Addrs(s.masters))
	links[1].DelayRequests(100 * time.Millisecond) // its steps take longer than the run
	cfg := s.cfg
	cfg.Fencing, cfg.TTL, cfg.Client.DialCtxFn = true, cfg.MaxTTL, byAddress.Dial
	h, err := acquire(t.Context(), groups.Config{Config: cfg}, []string{"name"}, kind{}, true, io.Discard)
	require.NoError(t, err)
	require.NoError(t, h.release())
	begun := s.members(t)[1]
	require.True(t, begun.Waits)
	require.Less(t, begun.Left, shortWait, "since when is kept there")
}

func TestExecSaysThatAMemberIsDown(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	redistest.Down(t, s.masters[2])
	_, said := s.exec(t)
	require.Regexp(t, `^muxlock: locked without `+s.masters[2].Addr()+`: .*connection refused; see muxlock masters status\n$`, said)
}

// nameInEach returns a name of each of two groups, red and blue, and the setting that names the groups.
func nameInEach(t *testing.T, red, blue *set, cfg engine.Config) (inRed, inBlue, setting string) {
	t.Helper()
	both := groups.Config{Config: cfg, Groups: map[string][]string{"red": redistest.Addrs(red.masters), "blue": redistest.Addrs(blue.masters)}}
	both.ReadOnly = true
	both.Masters, both.TTL = nil, cfg.MaxTTL
	e, err := groups.New(t.Context(), both)
	require.NoError(t, err)
	for i := 0; inRed == "" || inBlue == ""; i++ {
		name := "name" + strconv.Itoa(i)
		found, err := admin.Inspect(t.Context(), e.Engine, name)
		require.NoError(t, err)
		if found.Masters[0].Address == blue.masters[0].Addr() {
			inBlue = name
		} else {
			inRed = name
		}
	}
	require.NoError(t, e.Close())
	return inRed, inBlue, "MUXLOCK_GROUPS=red=" + strings.Join(both.Groups["red"], ",") + " blue=" + strings.Join(both.Groups["blue"], ",")
}

func TestOfMembersThatAreDownThoseOfOtherGroupsAreNotNamed(t *testing.T) {
	t.Parallel()
	red, blue := newFencedSet(t), newFencedSet(t)
	red.cfg.Fencing = true
	inRed, inBlue, setting := nameInEach(t, red.set, blue.set, red.cfg)
	s := red.with("MUXLOCK_MASTERS=", setting)
	redistest.Down(t, blue.masters[0])
	require.Empty(t, s.says(t, 0, "exec --ttl 4s "+inRed+" -- true"))
	require.Contains(t, s.says(t, 0, "exec --ttl 4s "+inBlue+" -- true"), "muxlock: locked without "+blue.masters[0].Addr())
}

func TestNobodyWaitsForMastersOfAnotherGroup(t *testing.T) {
	t.Parallel()
	red, blue := ownSet(t), ownSet(t)
	cfg := red.config()
	cfg.MaxTTL = 8 * time.Second
	inRed, inBlue, setting := nameInEach(t, red, blue, cfg)
	s := &set{env: []string{setting, "MUXLOCK_MAX_TTL=8s", "MUXLOCK_MASTER_TIMEOUT=2s"}}
	await.Within(t, limit, func() bool { // all have voted for long enough
		_, stderr, code := s.run(t, "exec --ttl 8s "+inRed+" -- true")
		return code == 0 && stderr == ""
	})
	for _, m := range blue.masters {
		restart(t, m)
	}
	require.Empty(t, s.says(t, 0, "exec --ttl 8s "+inRed+" -- true"))
	stderr := s.says(t, exitTimeout, "exec --ttl 8s --max-ttl 1h --wait "+asks+" "+inBlue+" -- true") // no machine is so busy
	require.Contains(t, stderr, "muxlock: waiting for the masters: 0 of 3 masters vote")
}
