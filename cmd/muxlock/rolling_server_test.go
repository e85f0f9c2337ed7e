package main

import (
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/testing/redistest"
)

// As engine/README says under Restarts.
func TestExecKeepsItsLockWhileAllMastersAreRestartedOneAfterAnother(t *testing.T) {
	t.Parallel()
	for name, fencing := range map[string]string{"without fencing": "false", "with fencing": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownSet(t)
			if fencing == "true" {
				cfg := engine.Config{Masters: redistest.Addrs(s.masters), MaxTTL: 4 * time.Second, MasterTimeout: 3900 * time.Millisecond}
				require.NoError(t, admin.SetUp(t.Context(), cfg, admin.SetUpOptions{MastersAreNew: true}))
			}
			s.env = append(s.env, "MUXLOCK_MAX_TTL=4s", "MUXLOCK_FENCING="+fencing, "MUXLOCK_NEW_MASTERS=false", "MUXLOCK_MASTER_TIMEOUT=1s")
			holder := s.start(t, "exec", "--ttl", "4s", "name", "--", "sh", "-c", "echo began; exec sleep 120")
			holder.out.await(t, "began")
			waiter := s.start(t, "exec", "--ttl", "4s", "name", "--", "echo", "began")
			for _, m := range s.masters {
				restart(t, m)
				_, stderr, code := s.run(t, "masters", "status", "--wait")
				require.Zero(t, code, stderr)
				require.Eventually(t, func() bool {
					stdout, _, code := s.run(t, "status", "name")
					require.Zero(t, code, stdout)
					require.Contains(t, stdout, " sh, ", "the holder, and no waiter")
					return regexp.MustCompile(`^name is held on 3 of 3 masters by .* sh, .*; [1-9] in line`).MatchString(stdout)
				}, limit, 100*time.Millisecond)
			}
			require.Empty(t, waiter.out.String())
			require.NoError(t, holder.Process.Signal(syscall.SIGTERM))
			require.Equal(t, exitSignal+int(syscall.SIGTERM), holder.code(t), holder.log)
			require.Zero(t, waiter.code(t), waiter.log)
			require.Equal(t, "began\n", waiter.out.String())
		})
	}
}
