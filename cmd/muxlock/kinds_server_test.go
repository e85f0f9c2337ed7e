package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine/admin"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestReadersShareANameAndWritersDoNot(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	first := s.script(t, "--shared a", ready)
	s.ok(t, "exec --shared --try a -- true")
	require.Contains(t, s.says(t, exitTaken, "exec --try a -- true"), "lock is taken")
	require.Contains(t, s.ok(t, "status a"), "a is held on 3 of 3 masters by a reader, ")
	require.Contains(t, s.ok(t, "ls"), "a reader, ")
	first.ends(t, exitSignal+int(syscall.SIGTERM), syscall.SIGTERM)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

// ready is a script that SIGTERM ends.
const ready = "echo ready; exec sleep 60"

func TestAForcedReleaseTellsOfAllReaders(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, holder := range []string{"one", "two"} {
		s.start(t, "exec --shared --holder "+holder+" a -- sleep 60")
		await.Within(t, limit, func() bool { // on all masters
			stdout, _, _ := s.run(t, "status a")
			return strings.Count(stdout, "s  "+holder+"\n") == 3
		})
	}
	var was state
	require.Zero(t, s.document(t, &was, "status a"))
	require.Len(t, was.Masters, 3)
	for _, m := range was.Masters {
		require.Equal(t, 2, m.Readers)
		require.Len(t, m.ReaderList, 2)
		require.Contains(t, m.ReaderList, reader{m.Value, m.Holder})
		require.ElementsMatch(t, []string{"one", "two"}, []string{m.ReaderList[0].Holder, m.ReaderList[1].Holder})
		require.NotEqual(t, m.ReaderList[0].Value, m.ReaderList[1].Value)
	}
	stdout := s.ok(t, "release --force --yes a")
	require.Regexp(t, `^released a: values [0-9a-f]{8} and [0-9a-f]{8}, held by (one and two|two and one) for another [0-9.]+s, were deleted on 3 of 3 masters\n$`, stdout)
	require.Contains(t, stdout, was.Masters[0].Value)
}

func TestAsManyHoldAPermitAsThereAre(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	const permit = "--permits 2 a"
	holders := []*job{s.script(t, permit, ready)}
	s.ok(t, "exec --try "+permit+" -- true")
	holders = append(holders, s.script(t, permit, ready))
	require.Equal(t, "muxlock: \"a\": all 2 permits are taken\n", s.says(t, exitTaken, "exec --try "+permit+" -- true"))
	holders = append(holders, s.script(t, "a", ready))
	require.Equal(t, "muxlock: \"a\" not acquired within "+asks+": all 2 permits are taken\n", s.says(t, exitTimeout, "exec --wait "+asks+" "+permit+" -- true"),
		"the lock has nothing to do with permits")
	for _, j := range holders {
		j.ends(t, exitSignal+int(syscall.SIGTERM), syscall.SIGTERM)
	}
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestACommandHasTheSlotOfItsPermitAndAReaderHasNoFence(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	const show = `echo "<$MUXLOCK_SLOT> <$MUXLOCK_FENCE>"`
	first := s.start(t, "exec --ttl 4s --permits 2 a -- sh -c", show+"; exec sleep 60")
	first.out.await(t, "\n")
	second := s.ok(t, "exec --ttl 4s --permits 2 a -- sh -c", show)
	require.Regexp(t, `^<[01]> <[1-9][0-9]*>\n$`, first.out.String())
	require.Regexp(t, `^<[01]> <[1-9][0-9]*>\n$`, second)
	require.NotEqual(t, first.out.String()[:3], second[:3])
	inside := s.with("MUXLOCK_FENCE=7") // of a lock around this one
	require.Equal(t, "<> <>\n", inside.ok(t, "exec --ttl 4s --shared a -- sh -c", show))
}

func TestAReaderIsNotSaidToBeInTheWayOfAnother(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.script(t, "--shared --holder the-reader a", ready)
	s.start(t, "exec a -- true")
	var stderr string
	await.Within(t, limit, func() (refused bool) { // since the writer waits
		var code int
		_, stderr, code = s.run(t, "exec --shared --try a -- true")
		return code == exitTaken
	})
	require.Contains(t, stderr, "lock is taken")
	require.NotContains(t, stderr, "the-reader")
}

// awaitLine returns when so many processes stand in line for a name.
func (s *set) awaitLine(t *testing.T, name string, waiting int) {
	t.Helper()
	e := s.engine(t)
	await.Within(t, limit, func() bool {
		i, err := admin.Inspect(t.Context(), e, name)
		return err == nil && i.Waiting == waiting
	})
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
		await.Within(t, limit, func() bool { return !slices.Contains(redistest.Get(t, s.masters, key), "") })
	}
	permit("jobs/a", 0)
	permit("jobs/a", 1)
	permit("jobs/b [x]", 0)
	permit("other:jobs/a", 0)
	redistest.Command(t, s.masters[0], "SET", "__muxlock__:slot:10:jobs/a", "late", "PX", "60000")
	redistest.Command(t, s.masters[0], "SET", "__muxlock__:slot:9:jobs/a", "for ever, as no permit is")
	redistest.Command(t, s.masters[0], "SET", "__muxlock__:tot:9:jobs/a", "another key of an engine", "PX", "60000")
	s.hold(t, "jobs/b [x]")

	stdout, _, _ := s.run(t, "status jobs/a")
	require.Regexp(t, `(?s)^no lock on jobs/a; 2 permits held\nMASTER .*\n\n`+
		`NAME +PERMIT +STATE +MASTERS +LEFT +HOLDER\n`+
		`jobs/a +0 +held +3 of 3 +[0-9.]+s +the test\n`+
		`jobs/a +1 +held +3 of 3 +[0-9.]+s +the test\n`+
		`jobs/a +10 +free +1 of 3 +\n$`, stdout)
	stdout, _, _ = s.run(t, "status jobs/c")
	require.NotContains(t, strings.ToLower(stdout), "permit")

	require.Equal(t, []string{"jobs/b [x]", "jobs/a 0", "jobs/a 1", "jobs/a 10", "jobs/b [x] 0"}, s.listed(t, "jobs/"))
	require.Equal(t, []string{"jobs/b [x]", "jobs/a 0", "jobs/a 1", "jobs/a 10", "jobs/b [x] 0", "other:jobs/a 0"}, s.listed(t))
	require.Equal(t, []string{"b [x]", "b [x] 0"}, s.listed(t, "--prefix", "jobs/", "b ["))
	require.Regexp(t, `(?s)^NAME +STATE .*\n"jobs/b \[x\]" +held [^\n]*\n\nNAME +PERMIT +STATE +MASTERS +LEFT +HOLDER\n"jobs/b \[x\]" +0 +held +3 of 3 +[0-9.]+s +the test\n$`, s.ok(t, "ls jobs/b"))
	require.Contains(t, s.says(t, 0, "ls --limit 2 jobs/"), "more than --limit 2")

	require.Equal(t, "muxlock: no lock on \"jobs/a\"; 2 permits are held (release leaves permits alone)\n", s.says(t, exitFree, "release --force --yes jobs/a"))
	require.Equal(t, "muxlock: nobody holds \"jobs/b\"\n", s.says(t, exitFree, "release --force --yes jobs/b"))
	require.Contains(t, s.listed(t), "jobs/a 0")

	for _, m := range s.masters[1:] {
		redistest.Command(t, m, "RPUSH", "__muxlock__:slot:63:jobs/a", "x")
	}
	s.prints(t, exitRun, "; 2 permits held", "key holds no lock", "status jobs/a") // whether the last is taken is not known
}

func TestSeveralNamesAreLockedAllOrNone(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "b")
	require.Equal(t, "muxlock: \"a\", \"b\", \"c\": \"b\": lock is taken by the test\n", s.says(t, exitTaken, "exec", "--try", "a", "b", "c", "--", "true"))
	require.Equal(t, "muxlock: \"c\", \"b\" not acquired within "+asks+": \"b\": lock is taken by the test\n", s.says(t, exitTimeout, "exec --wait "+asks+" c b -- true"))

	j := s.start(t, "exec", "a", "b", "--", "sh", "-c", "echo began; cat")
	in := s.engine(t)
	for range 3 { // it holds nothing while it waits
		l, err := in.Acquire(t.Context(), "a", 0)
		require.NoError(t, err)
		require.NoError(t, l.Release(t.Context()))
	}
	require.NoError(t, lock.Release(t.Context()))
	j.ends(t, 0)
	require.Equal(t, "began\n", j.out.String())
	require.Empty(t, redistest.Keys(t, s.masters...))
}

// Otherwise a job with -q whose NAME is the key of another program would never run, and nobody would hear of it.
func TestAKeyOfAnotherTypeIsNoHolder(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, m := range s.masters {
		redistest.Command(t, m, "RPUSH", "a-list", "x")
	}
	for args, want := range map[string]int{"--try": exitOurs, "--shared --try": exitOurs, "--wait " + asks: exitTimeout, "b --try": exitOurs} {
		require.Contains(t, s.says(t, want, "exec -q -E 9 a-list "+args+" -- true"), "\"a-list\": "+s.masters[0].Addr()+": key holds no lock: WRONGTYPE", args)
	}
}

func TestTheCommandHasAFenceForEachNameWhichGrows(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t).with("MUXLOCK_FENCING=false")
	fences := func(flags, variable string) (fences []int) {
		for _, word := range strings.Fields(s.ok(t, "exec --ttl 4s "+flags+" a b c -- sh -c", "echo $"+variable)) {
			n, err := strconv.Atoi(word)
			require.NoError(t, err)
			fences = append(fences, n)
		}
		require.Len(t, fences, 3)
		return fences
	}
	first := fences("--fencing", "MUXLOCK_FENCE")
	for i, fence := range fences("--fence-env TOKEN", "TOKEN") {
		require.Positive(t, first[i])
		require.Greater(t, fence, first[i], "whatever the environment says of fencing")
	}
}
