package main

import (
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// As engine/README says under Restarts.
func TestExecKeepsItsLockWhileAllMastersAreRestartedOneAfterAnother(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *set{"without fencing": ownSet, "with fencing": func(t *testing.T) *set { return fenced(t, 3, "4s") }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s = s.with("MUXLOCK_MAX_TTL=4s", "MUXLOCK_NEW_MASTERS=false", "MUXLOCK_MASTER_TIMEOUT=1s")
			holder := s.script(t, "--ttl 4s name", "echo ready; exec sleep 120")
			waiter := s.start(t, "exec --ttl 4s name -- echo began")
			for _, m := range s.masters {
				restart(t, m)
				s.ok(t, "masters", "status", "--wait")
				require.Eventually(t, func() bool {
					stdout, _, code := s.run(t, "status", "name")
					require.Zero(t, code, stdout)
					require.Contains(t, stdout, " sh, ", "the holder, and no waiter")
					return regexp.MustCompile(`^name is held on 3 of 3 masters by .* sh, .*; [1-9] in line`).MatchString(stdout)
				}, limit, 100*time.Millisecond)
			}
			require.Empty(t, waiter.out.String())
			holder.ends(t, exitSignal+int(syscall.SIGTERM), syscall.SIGTERM)
			waiter.ends(t, 0)
			require.Equal(t, "began\n", waiter.out.String())
		})
	}
}
