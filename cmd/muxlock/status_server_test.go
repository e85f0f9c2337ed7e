package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// document runs a command with -o json and reads what it writes.
func (s *set) document(t *testing.T, into any, line string, more ...string) (code int) {
	t.Helper()
	stdout, stderr, code := s.run(t, line+" -o json", more...)
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(into), "%s%s", stdout, stderr)
	return code
}

// listed returns the locks that ls finds, and the permits with their slots.
func (s *set) listed(t *testing.T, args ...string) (found []string) {
	t.Helper()
	var l listing
	require.Zero(t, s.document(t, &l, "ls", args...))
	require.False(t, l.More)
	for _, n := range l.Locks {
		require.Nil(t, n.Slot)
		found = append(found, string(n.Name))
	}
	for _, n := range l.Permits {
		found = append(found, fmt.Sprint(string(n.Name), " ", *n.Slot))
	}
	return found
}

func TestStatusShowsWhoHoldsALockAndNoToken(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	token := s.hold(t, "name").Reveal()
	stdout := s.ok(t, "status name")
	require.Contains(t, stdout, "name is held on 3 of 3 masters by the test, for ")
	require.NotContains(t, stdout, token[:8])
	s.ok(t, "status --max-ttl 4s name") // shorter than the usual lease

	var v state
	require.Zero(t, s.document(t, &v, "status", "name"))
	require.Equal(t, 1, v.SchemaVersion)
	require.EqualValues(t, "name", v.Name)
	require.Equal(t, isHeld, v.Verdict)
	require.Equal(t, "the test", v.Holder)
	require.Positive(t, *v.LeftMs)
	require.Len(t, v.Masters, 3)
	require.Equal(t, s.masters[0].Addr(), v.Masters[0].Address)
	require.Regexp(t, "^[0-9a-f]{8}$", v.Masters[0].Value)
}

// U+FFFD would stand for each byte that is not, and two names would be one.
func TestJSONQuotesANameThatIsNotUTF8AsTextDoes(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for name, want := range map[string]string{"a\xff": `"a\xff"`, "a\xfe": `"a\xfe"`, `"ä"`: `"ä"`} {
		redistest.Put(t, s.masters, name, "one")
		var l listing
		require.Zero(t, s.document(t, &l, "ls"))
		require.Len(t, l.Locks, 1)
		require.EqualValues(t, want, l.Locks[0].Name)
		var v state
		require.Zero(t, s.document(t, &v, "status", name))
		require.EqualValues(t, want, v.Name)
		var r released
		require.Zero(t, s.document(t, &r, "release", "--force", "--yes", name))
		require.EqualValues(t, want, r.Name)
	}
}

func TestStatusTellsFreeSplitAndUnknownApart(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	verdict := func(want string, code int) {
		t.Helper()
		var v state
		require.Equal(t, code, s.document(t, &v, "status", "name"))
		require.Equal(t, want, v.Verdict)
	}
	verdict(isFree, exitFree)
	for _, c := range []struct {
		master int
		value  string
		want   string
		code   int
	}{{0, "one", isFree, exitFree}, {1, "two", isSplit, exitSplit}, {1, "one", isHeld, 0}} {
		redistest.Command(t, s.masters[c.master], "SET", "name", c.value, "PX", "60000")
		verdict(c.want, c.code)
	}
	redistest.Down(t, s.masters[2])
	verdict(isHeld, 0)
	require.Contains(t, s.ok(t, "status name"), "refused") // the third
	redistest.Command(t, s.masters[1], "DEL", "name")
	redistest.Command(t, s.masters[1], "LPUSH", "name", "x")
	verdict(isUnknown, exitRun)
	s.prints(t, exitRun, "key holds no lock: WRONGTYPE", "connection refused", "status name")
}

func TestStatusSaysWhichMasterLacksALockAndWhetherItVotes(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	third := s.masters[2].Addr()
	lacks := func(s *set, want bool, text string) holds {
		t.Helper()
		var v state
		require.Zero(t, s.document(t, &v, "status name"))
		require.Equal(t, []bool{false, false, want}, []bool{v.Masters[0].Lacks, v.Masters[1].Lacks, v.Masters[2].Lacks})
		require.Regexp(t, text, s.ok(t, "status name"))
		return v.Masters[2]
	}
	redistest.Put(t, s.masters[:2], "name", "one")
	h := lacks(s, true, "^name is held on 2 of 3 masters, for [0-9.ms]+ unless it is renewed; "+third+" lacks it, and votes\n(.*\n)*"+third+" +free +\n$")
	require.True(t, h.Votes)
	require.Empty(t, h.NoVote)
	h = lacks(s.with("MUXLOCK_NEW_MASTERS=false"), true, "; "+third+" lacks it, and votes in [0-9.]+s\n")
	require.False(t, h.Votes)
	require.Less(t, *h.VotesInMs, int64(31302))
	require.Contains(t, h.NoVote, "no vote for another ")
	redistest.Put(t, s.masters[2:], "name", "another")
	lacks(s, true, "^name is held on 2 of 3 masters, .*; "+third+" lacks it, and votes\n")
	require.Regexp(t, "name +held +2 of 3", s.ok(t, "ls"), "another's key is none of the holder's")
	redistest.Command(t, s.masters[2], "SET", "name", "one", "PX", "60000")
	lacks(s, false, "^name is held on 3 of 3 masters, for [0-9.ms]+ unless it is renewed\n")
	redistest.Down(t, s.masters[2])
	h = lacks(s, false, "^name is held on 2 of 3 masters, for [0-9.ms]+ unless it is renewed\n(.*\n)*"+third+" +unknown +.*refused")
	require.False(t, h.Votes)
	require.Nil(t, h.VotesInMs)
	require.Contains(t, h.NoVote, "refused")
}

func TestStatusSaysWhichMasterLacksAReader(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for range 2 {
		reader, err := s.engine(t).AcquireShared(t.Context(), "name", 0)
		require.NoError(t, err)
		require.NoError(t, reader.KeepAlive(0))
	}
	await.Within(t, limit, func() bool { // on all masters
		stdout, _, _ := s.run(t, "status", "name")
		return strings.Contains(stdout, " on 3 of 3 masters by 2 readers")
	})
	redistest.Command(t, s.masters[0], "ZPOPMAX", "name")
	require.Regexp(t, "^name is held on 2 of 3 masters by 2 readers, .*; "+s.masters[0].Addr()+" lacks a reader, and votes\n", s.ok(t, "status", "name"))
}

// By its uptime, the restarted master would be as one that has granted a lock just now: with fencing the mark counts.
func TestStatusOfMastersWithFencingKnowsWhoIsAdmitted(t *testing.T) {
	t.Parallel()
	s := fenced(t, 3, "30s")
	redistest.Put(t, s.masters, "name", "one")
	restart(t, s.masters[1])
	require.Regexp(t, "^name is held on 2 of 3 masters, .*; "+s.masters[1].Addr()+" lacks it, and (votes in [0-9.]+s|does not vote)\n", s.ok(t, "status name"))
}

func TestAForcedReleaseTellsWhatItCut(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	require.Equal(t, "muxlock: nobody holds \"name\"\n", s.says(t, exitFree, "release", "--force", "--yes", "name"))

	s.hold(t, "name")
	require.Regexp(t, `^released name: value [0-9a-f]{8}, held by the test for another [0-9.]+s, was deleted on 3 of 3 masters\n$`, s.ok(t, "release", "--force", "--yes", "name"))
	require.Empty(t, redistest.Keys(t, s.masters...))

	s.hold(t, "name")
	redistest.Command(t, s.masters[2], "SET", "name", "another", "PX", "60000")
	var r released
	require.Zero(t, s.document(t, &r, "release", "--force", "--yes", "name"))
	require.Equal(t, 3, r.Deleted)
	require.Len(t, r.Values, 2)
	require.Equal(t, "the test", r.Holder)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestLsListsLocksAndLeavesOutTheRest(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	s.hold(t, "jobs/b")
	s.hold(t, "jobs/a [x]")
	s.hold(t, "other")
	for _, m := range s.masters {
		redistest.Command(t, m, "SET", "jobs/for-ever", "a string")
		redistest.Command(t, m, "SET", "jobs/long", strings.Repeat("x", 10_000), "PX", "60000")
		redistest.Command(t, m, "LPUSH", "jobs/list", "x")
		redistest.Command(t, m, "SET", "__muxlock__:x", "engine", "PX", "60000")
	}
	redistest.Command(t, s.masters[0], "SET", "jobs/c", "one", "PX", "60000")
	require.Equal(t, []string{"jobs/a [x]", "jobs/b", "jobs/c", "other"}, s.listed(t))
	require.Equal(t, []string{"jobs/a [x]", "jobs/b", "jobs/c"}, s.listed(t, "jobs/"))
	require.Equal(t, []string{"jobs/a [x]"}, s.listed(t, "jobs/a ["))
	require.Equal(t, []string{"a [x]", "b", "c"}, s.listed(t, "--prefix", "jobs/"))
	require.Empty(t, s.listed(t, "jobs/*"), "no pattern")
	require.Empty(t, s.listed(t, "__mux"))

	s.prints(t, 0, "NAME", "^muxlock: more than --limit 1 keys match, locks or not: locks may be missing; give a longer BEGINNING, or raise --limit\n$", "ls --limit 1 jobs/")
	stdout := s.ok(t, "ls jobs/")
	require.Regexp(t, `(?m)^"jobs/a \[x\]" +held +3 of 3 +[0-9.]+s +the test$`, stdout)
	require.Regexp(t, `(?m)^jobs/c +free +1 of 3 `, stdout)

	redistest.Down(t, s.masters[0])
	require.Equal(t, []string{"jobs/a [x]", "jobs/b"}, s.listed(t, "jobs/"))
	redistest.Down(t, s.masters[1])
	require.Contains(t, s.says(t, exitRun, "ls"), "no quorum of masters")
}

func TestPasswordsAreTakenFromFileOrEnvironmentAndNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "s3cret#of them"
	masters := redistest.MastersWith(t, 3, redisserver.Options{Password: secret})
	s := setOf(masters)
	file := t.TempDir() + "/password"
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	outputs := func(s *set) {
		t.Helper()
		for _, line := range []string{"exec name -- true", "exec --try name -- true", "status name", "status -o json name", "release --force --yes name", "ls", "ls -o json"} {
			stdout, stderr, code := s.run(t, line)
			require.Contains(t, []int{exitOK, exitFree}, code, stderr)
			require.NotContains(t, stdout+stderr, "s3cret")
		}
	}
	outputs(s.with("MUXLOCK_PASSWORD_FILE=" + file))
	outputs(s.with("MUXLOCK_PASSWORD=" + secret))
	outputs(s.with("MUXLOCK_MASTERS=redis://:s3cret%23of%20them@" + strings.Join(redistest.Addrs(masters), ",redis://:s3cret%23of%20them@")))

	wrong := s.with("MUXLOCK_PASSWORD=s3cret too")
	wrong.ok(t, "ls --password-file "+file)
	for line, code := range map[string]int{"exec --wait 1m name -- true": exitRefused, "status name": exitRun, "ls": exitRun, "release --force --yes name": exitRun} {
		stderr := wrong.says(t, code, line) // it does not get better by waiting
		require.True(t, strings.HasPrefix(stderr, "muxlock: a master cannot be used as configured; "+s.masters[0].Addr()+": WRONGPASS"), stderr)
		require.NotContains(t, stderr, "--help", "nothing is wrong with the command line")
		require.NotContains(t, stderr, "s3cret")
	}
	groups := wrong.with("MUXLOCK_MASTERS=", "MUXLOCK_GROUPS=up="+strings.Join(redistest.Addrs(masters), ",")+" away=127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
	stderr := groups.says(t, exitRefused, "exec --wait 1s name -- true") // nor with a group that could
	require.Contains(t, stderr, `group "up": a master cannot be used as configured; `)
	require.Contains(t, stderr, "WRONGPASS")
	require.NotContains(t, stderr, "--help")
}

func TestDurationsAreShortAndNeverLessThanThereIs(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", time.Millisecond: "100ms", 9610 * time.Millisecond: "9.7s", time.Minute: "1m0s"} {
		ms := d.Milliseconds()
		require.Equal(t, want, shownLeft(&ms))
	}
}

func TestTheHolderIsPrintableAndFits(t *testing.T) {
	require.Regexp(t, `^\S+:[0-9]+ sh$`, holder("/bin/sh"))
	long := holder("/x/" + strings.Repeat("ä\x01", 100))
	require.LessOrEqual(t, len(long), 64)
	require.Contains(t, long, " ä?ä?")
	require.Equal(t, "ä", fitted("ää", 3))
}

func TestLsShowsNoPasswordThatAServerQuotes(t *testing.T) {
	t.Parallel()
	s, stranger := setOf(redistest.Masters(t, 2)), redistest.Stranger(t)
	masters := strings.Join(append(redistest.Addrs(s.masters), "redis://:swordfish@"+stranger), ",")
	require.Equal(t, "muxlock: not scanned: "+stranger+": unknown command 'AUTH'\n", s.says(t, 0, "ls --masters "+masters))
}
