package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

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

func TestAsManyHoldAPermitAsThereAre(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	first := s.start(t, "exec", "--permits", "2", "a", "--", "sh", "-c", "echo began; sleep 60")
	first.out.await(t, "began")
	_, stderr, code := s.run(t, "exec", "--permits", "2", "--try", "a", "--", "true")
	require.Equal(t, 0, code, stderr)
	second := s.start(t, "exec", "--permits", "2", "a", "--", "sh", "-c", "echo began; sleep 60")
	second.out.await(t, "began")
	_, _, code = s.run(t, "exec", "--permits", "2", "--try", "a", "--", "true")
	require.Equal(t, exitTaken, code)
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), first.code(t), first.log)
	require.NoError(t, second.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitSignal+int(syscall.SIGTERM), second.code(t), second.log)
	require.Empty(t, redistest.Keys(t, s.masters...))
}

func TestKindsOfWhichOneIsWrongLockNothing(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for _, args := range []string{"--shared --permits 2 a", "--shared a b", "--permits 2 a b", "--permits 0 a", "--permits 65 a"} {
		_, stderr, code := s.run(t, append(append([]string{"exec"}, strings.Fields(args)...), "--", "true")...)
		require.Equal(t, exitOurs, code, args)
		require.Contains(t, stderr, "--permits", args)
	}
	require.Empty(t, redistest.Keys(t, s.masters...))
}
