package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestSeveralNamesAreLockedAllOrNone(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	lock := s.hold(t, "b")
	require.Equal(t, "muxlock: \"a\", \"b\", \"c\": \"b\": lock is taken by the test\n", s.fails(t, exitTaken, "exec", "--try", "a", "b", "c", "--", "true"))
	require.Equal(t, "muxlock: \"c\", \"b\" not acquired within "+asks+": \"b\": lock is taken by the test\n", s.fails(t, exitTimeout, "exec --wait "+asks+" c b -- true"))

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
		require.Contains(t, s.fails(t, want, "exec -q -E 9 a-list "+args+" -- true"), "\"a-list\": "+s.masters[0].Addr()+": key holds no lock: WRONGTYPE", args)
	}
}

func TestCommandHasAFenceForEachName(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	fences := func() (fences []int) {
		for _, word := range strings.Fields(s.ok(t, "exec --fencing --ttl 4s a b c -- sh -c", "echo $MUXLOCK_FENCE")) {
			n, err := strconv.Atoi(word)
			require.NoError(t, err)
			fences = append(fences, n)
		}
		require.Len(t, fences, 3)
		return fences
	}
	first := fences()
	for i, fence := range fences() {
		require.Greater(t, fence, first[i])
	}
}

func TestLossOfOneOfSeveralNamesEndsTheCommand(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	j := s.script(t, "--ttl 8s a b", ready)
	for _, m := range s.masters {
		redistest.Command(t, m, "DEL", "b")
	}
	j.ends(t, exitLost)
	require.Contains(t, j.log.String(), `"a", "b" was lost: "b": lock was lost`)
	require.Empty(t, redistest.Keys(t, s.masters...))
}
