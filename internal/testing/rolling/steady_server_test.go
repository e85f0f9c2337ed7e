package rolling

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/wire"
)

// callsOf returns how often each command was called at a master.
func callsOf(t *testing.T, master *redisserver.Server) map[string]int {
	calls := make(map[string]int)
	info, err := wire.Ask(t.Context(), "redis://"+master.Addr(), limit, "INFO", "commandstats")
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`).FindAllStringSubmatch(info[0].Text, -1) {
		n, err := strconv.Atoi(found[2])
		require.NoError(t, err)
		calls[found[1]] = n
	}
	return calls
}

// A lock that all masters have costs what it did before locks were healed: these are the counts of version 9f23f671.
func TestAKeptLockThatAllMastersHaveCostsOneCommandForEachRenewal(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprint("fenced ", fenced), func(t *testing.T) {
			t.Parallel()
			began, r := time.Now(), newRoll(t, setting{masters: 3, fenced: fenced})
			cfg := r.config()
			cfg.MastersAreNew, cfg.MasterTimeout = !fenced, 500*time.Millisecond
			e, err := open(t.Context(), cfg)
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			r.until("all vote", func() bool {
				return !slices.ContainsFunc(e.Stats().Masters, func(m engine.MasterStats) bool { return m.Cause != nil })
			})
			for _, m := range r.masters {
				_, err := wire.Ask(t.Context(), "redis://"+m.Addr(), limit, "CONFIG", "RESETSTAT")
				require.NoError(t, err)
			}
			lock, err := e.Acquire(t.Context(), kept, 0) // for longer than the machine stalls
			require.NoError(t, err)
			require.NoError(t, lock.KeepAlive(0))
			r.until("15 renewals", func() bool { return lock.Err() != nil || e.Stats().Renewed >= 15 })
			require.NoError(t, lock.Release(t.Context()))
			n := int(e.Stats().Renewed)
			want := map[string]int{"set": 1, "evalsha": n + 1, "get": n + 1, "pttl": n, "pexpire": n, "del": 1}
			if fenced { // each script also compares the mark, and the acquire raises a register
				want = map[string]int{"evalsha": n + 2, "get": 3*n + 1, "mget": 1, "hmget": 1, "hget": n, "hset": 1, "msetnx": 1, "pttl": n, "pexpire": n + 1, "del": 1}
			}
			for _, m := range r.masters {
				var calls map[string]int
				r.until("the release is everywhere", func() bool { calls = callsOf(t, m); return calls["del"] > 0 })
				delete(calls, "info") // the engine looks whether the master is still one
				delete(calls, "config|resetstat")
				if !maps.Equal(want, calls) && stalledSince(began) > mayLose {
					t.Skip("the machine stalled")
				}
				require.Equal(t, want, calls)
			}
		})
	}
}
