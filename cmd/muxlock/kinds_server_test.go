package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/testing/redistest"
)

func TestReadersShareANameAndWritersDoNot(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	first := s.start(t, "exec", "--shared", "a", "--", "sh", "-c", "echo began; sleep 60")
	first.out.await(t, "began")
	_, stderr, code := s.run(t, "exec", "--shared", "--try", "a", "--", "true")
	require.Equal(t, 0, code, stderr)
	_, stderr, code = s.run(t, "exec", "--try", "a", "--", "true")
	require.Equal(t, exitTaken, code)
	require.Contains(t, stderr, "lock is taken")
	stdout, _, code := s.run(t, "status", "a")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "a is held on 3 of 3 masters by a reader, ")
	stdout, _, _ = s.run(t, "ls")
	require.Contains(t, stdout, "a reader, ")
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), first.code(t), first.log)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestAForcedReleaseTellsOfAllReaders(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, holder := range []string{"one", "two"} {
		s.start(t, "exec", "--shared", "--holder", holder, "a", "--", "sleep", "60")
		require.Eventually(t, func() bool { // on all masters
			stdout, _, _ := s.run(t, "status", "a")
			return strings.Count(stdout, "s  "+holder+"\n") == 3
		}, limit, time.Millisecond)
	}
	var was state
	require.Zero(t, s.document(t, &was, "status", "a"))
	require.Len(t, was.Masters, 3)
	document, _, _ := s.run(t, "status", "a", "-o", "json")
	var all struct {
		Masters []struct {
			Readers    int
			ReaderList []map[string]string `json:"reader_list"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(document), &all))
	for i, m := range all.Masters {
		require.Equal(t, 2, m.Readers)
		require.Len(t, m.ReaderList, 2)
		require.Contains(t, m.ReaderList, map[string]string{"value": was.Masters[i].Value, "holder": was.Masters[i].Holder})
		require.ElementsMatch(t, []string{"one", "two"}, []string{m.ReaderList[0]["holder"], m.ReaderList[1]["holder"]})
		require.NotEqual(t, m.ReaderList[0]["value"], m.ReaderList[1]["value"])
	}
	document, _, _ = s.run(t, "status", "b", "-o", "json")
	require.Equal(t, 3, strings.Count(document, `"reader_list": []`), document)
	stdout, _, _ := s.run(t, "release", "--force", "--yes", "a")
	require.Regexp(t, `^released a: values [0-9a-f]{8} and [0-9a-f]{8}, held by (one and two|two and one) for another [0-9.]+s, were deleted on 3 of 3 masters\n$`, stdout)
	require.Contains(t, stdout, was.Masters[0].Value)
}

func TestAsManyHoldAPermitAsThereAre(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	first := s.start(t, "exec", "--permits", "2", "a", "--", "sh", "-c", "echo began; sleep 60")
	first.out.await(t, "began")
	_, stderr, code := s.run(t, "exec", "--permits", "2", "--try", "a", "--", "true")
	require.Equal(t, 0, code, stderr)
	second := s.start(t, "exec", "--permits", "2", "a", "--", "sh", "-c", "echo began; sleep 60")
	second.out.await(t, "began")
	_, stderr, code = s.run(t, "exec", "--permits", "2", "--try", "a", "--", "true")
	require.Equal(t, exitTaken, code)
	require.Equal(t, "muxlock: \"a\": all 2 permits are taken\n", stderr)
	lock := s.start(t, "exec", "a", "--", "sh", "-c", "echo began; sleep 60")
	lock.out.await(t, "began")
	_, stderr, code = s.run(t, "exec", "--permits", "2", "--wait", asks, "a", "--", "true")
	require.Equal(t, exitTimeout, code, stderr)
	require.Equal(t, "muxlock: \"a\" not acquired within "+asks+": all 2 permits are taken\n", stderr, "the lock has nothing to do with permits")
	require.NoError(t, lock.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), lock.code(t), lock.log)
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), first.code(t), first.log)
	require.NoError(t, second.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), second.code(t), second.log)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestACommandHasTheSlotOfItsPermitAndAReaderHasNoFence(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	const show = `echo "<$MUXLOCK_SLOT> <$MUXLOCK_FENCE>"`
	first := s.start(t, "exec", "--ttl", "4s", "--permits", "2", "a", "--", "sh", "-c", show+"; exec sleep 60")
	first.out.await(t, "\n")
	second, stderr, code := s.run(t, "exec", "--ttl", "4s", "--permits", "2", "a", "--", "sh", "-c", show)
	require.Zero(t, code, stderr)
	require.Regexp(t, `^<[01]> <[1-9][0-9]*>\n$`, first.out.String())
	require.Regexp(t, `^<[01]> <[1-9][0-9]*>\n$`, second)
	require.NotEqual(t, first.out.String()[:3], second[:3])
	s.env = append(s.env, "MUXLOCK_FENCE=7") // of a lock around this one
	stdout, stderr, code := s.run(t, "exec", "--ttl", "4s", "--shared", "a", "--", "sh", "-c", show)
	require.Zero(t, code, stderr)
	require.Equal(t, "<> <>\n", stdout)
}

func TestAReaderIsNotSaidToBeInTheWayOfAnother(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	reader := s.start(t, "exec", "--shared", "--holder", "the reader", "a", "--", "sh", "-c", "echo began; exec sleep 60")
	reader.out.await(t, "began")
	s.start(t, "exec", "a", "--", "true")
	var stderr string
	require.Eventually(t, func() (refused bool) { // since the writer waits
		var code int
		_, stderr, code = s.run(t, "exec", "--shared", "--try", "a", "--", "true")
		return code == exitTaken
	}, limit, time.Millisecond)
	require.Contains(t, stderr, "lock is taken")
	require.NotContains(t, stderr, "the reader")
}

func TestKindsOfWhichOneIsWrongLockNothing(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, args := range []string{"--shared --permits 2 a", "--shared a b", "--permits 2 a b", "--permits 0 a", fmt.Sprintf("--permits %d a", limits.Permits+1)} {
		_, stderr, code := s.run(t, append(append([]string{"exec"}, strings.Fields(args)...), "--", "true")...)
		require.Equal(t, exitOurs, code, args)
		require.Contains(t, stderr, "--permits", args)
	}
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestStatusAndLsShowPermitsThatAreTaken(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	locks := s.engine(t)
	permit := func(name string, slot int) {
		t.Helper()
		lock, err := locks.AcquirePermit(t.Context(), name, slot+1, 20*time.Second) // all below are taken
		require.NoError(t, err)
		require.Equal(t, slot, lock.Slot())
		require.NoError(t, lock.KeepAlive(0))
		key := fmt.Sprintf("__muxlock__:slot:%d:%s", slot, name)
		require.Eventually(t, func() bool { return !slices.Contains(redistest.Get(t, s.masters, key), "") }, limit, time.Millisecond)
	}
	permit("jobs/a", 0)
	permit("jobs/a", 1)
	permit("jobs/b [x]", 0)
	permit("other:jobs/a", 0)
	redistest.Command(t, s.masters[0], "SET", "__muxlock__:slot:10:jobs/a", "late", "PX", "60000")
	redistest.Command(t, s.masters[0], "SET", "__muxlock__:slot:9:jobs/a", "for ever, as no permit is")
	redistest.Command(t, s.masters[0], "SET", "__muxlock__:tot:9:jobs/a", "another key of an engine", "PX", "60000")
	s.hold(t, "jobs/b [x]")

	stdout, stderr, code := s.run(t, "status", "jobs/a")
	require.Equal(t, exitFree, code, stderr)
	require.Regexp(t, `(?s)^no lock on jobs/a; 2 permits held\nMASTER .*\n\n`+
		`NAME +PERMIT +STATE +MASTERS +LEFT +HOLDER\n`+
		`jobs/a +0 +held +3 of 3 +[0-9.]+s +the test\n`+
		`jobs/a +1 +held +3 of 3 +[0-9.]+s +the test\n`+
		`jobs/a +10 +free +1 of 3 +\n$`, stdout)
	stdout, _, _ = s.run(t, "status", "jobs/c")
	require.NotContains(t, strings.ToLower(stdout), "permit")

	var v state
	require.Equal(t, exitFree, s.document(t, &v, "status", "jobs/a"))
	require.Equal(t, isFree, v.Verdict)
	require.Len(t, v.Permits, 3)
	require.Equal(t, 1, *v.Permits[1].Slot)
	require.Equal(t, isHeld, v.Permits[1].Verdict)
	require.Equal(t, "the test", v.Permits[1].Holder)
	require.Equal(t, 3, v.Permits[1].On)
	require.Positive(t, *v.Permits[1].LeftMs)

	slots := func(args ...string) (found []string) {
		t.Helper()
		var l listing
		require.Zero(t, s.document(t, &l, append([]string{"ls"}, args...)...))
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
	require.Equal(t, []string{"jobs/b [x]", "jobs/a 0", "jobs/a 1", "jobs/a 10", "jobs/b [x] 0"}, slots("jobs/"))
	require.Equal(t, []string{"jobs/b [x]", "jobs/a 0", "jobs/a 1", "jobs/a 10", "jobs/b [x] 0", "other:jobs/a 0"}, slots())
	require.Equal(t, []string{"b [x]", "b [x] 0"}, slots("--prefix", "jobs/", "b ["))
	stdout, _, _ = s.run(t, "ls", "jobs/b")
	require.Regexp(t, `(?s)^NAME +STATE .*\n"jobs/b \[x\]" +held [^\n]*\n\nNAME +PERMIT +STATE +MASTERS +LEFT +HOLDER\n"jobs/b \[x\]" +0 +held +3 of 3 +[0-9.]+s +the test\n$`, stdout)
	_, stderr, _ = s.run(t, "ls", "--limit", "2", "jobs/")
	require.Contains(t, stderr, "more than --limit 2")

	_, stderr, code = s.run(t, "release", "--force", "--yes", "jobs/a")
	require.Equal(t, exitFree, code, "it is about the lock")
	require.Equal(t, "muxlock: no lock on \"jobs/a\"; 2 permits are held (release leaves permits alone)\n", stderr)
	_, stderr, _ = s.run(t, "release", "--force", "--yes", "jobs/b")
	require.Equal(t, "muxlock: nobody holds \"jobs/b\"\n", stderr)
	require.Contains(t, slots(), "jobs/a 0")

	for _, m := range s.masters[1:] {
		redistest.Command(t, m, "RPUSH", "__muxlock__:slot:63:jobs/a", "x")
	}
	stdout, stderr, code = s.run(t, "status", "jobs/a")
	require.Equal(t, exitRun, code, "whether the last is taken is not known")
	require.Contains(t, stderr, "key holds no lock")
	require.Contains(t, stdout, "; 2 permits held")
}
