package main

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisfake"
	"muxlock/internal/redisserver"
	"muxlock/internal/resp"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

// A server may answer SCAN with keys that do not match, shorter ones than the prefix among them, or with anything.
func TestLsTakesNoKeyThatWasNotAskedFor(t *testing.T) {
	master := redisfake.New()
	defer master.Close()
	const slot = pipeline.ReservedPrefix + "slot:"
	page := "*2\r\n$1\r\n0\r\n" + string(resp.AppendCommand(nil, "x", "jobs/7", "other/8", "", slot+"3:jobs/7", slot+"3:other/8", slot+"3:", slot))
	master.Mangle(func(_ int, reply []byte) ([]byte, bool) {
		if bytes.Contains(reply, []byte("'SCAN'")) {
			return []byte(page), false
		}
		return reply, false
	})
	scan := func() (map[lockKey]bool, error) {
		return (&lsFlags{settings: &settings{cfg: engine.Config{Prefix: "jobs/"}}, limit: 10}).scan(context.Background(), "192.0.2.1:6379", rueidis.ClientOption{DialCtxFn: master.Dial}, "")
	}
	names, err := scan()
	require.NoError(t, err)
	require.Equal(t, map[lockKey]bool{{"7", -1}: true, {"7", 3}: true}, names)

	page = "$-2\r\n"
	_, err = scan()
	require.ErrorIs(t, err, resp.ErrProtocol)
}

// deafOnceScanned returns the address of a proxy to a master. From the first SCAN on, only the connection of that SCAN is
// answered.
func deafOnceScanned(t *testing.T, m *redisserver.Server) string {
	var scanned atomic.Bool
	return proxy(t, m.Addr(), func() func([]byte, bool) bool {
		scans := false
		return func(piece []byte, request bool) bool {
			if request && bytes.Contains(piece, []byte("SCAN")) {
				scans = true
				scanned.Store(true)
			}
			return !request || scans || !scanned.Load()
		}
	})
}

// holdAndGoDeaf returns masters that hold a name, and answer nothing more once they are scanned.
func (s *set) holdAndGoDeaf(t *testing.T, name string) string {
	t.Helper()
	redistest.Put(t, s.masters, name, "one")
	var addrs []string
	for _, m := range s.masters {
		addrs = append(addrs, deafOnceScanned(t, m))
	}
	return strings.Join(addrs, ",")
}

func TestLsSaysThatItDoesNotKnowAllLocks(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	addrs := s.holdAndGoDeaf(t, "name")
	s.prints(t, exitRun, `^NAME .*\n$`, "muxlock: 1 of 1 locks and permits could not be looked at, and may be missing: no quorum of masters: 0 of 3 answered", "ls --masters "+addrs)
}

func TestLsLeavesAHungMasterAloneInTime(t *testing.T) {
	t.Parallel()
	s := ownSet(t).with("MUXLOCK_MASTER_TIMEOUT=500ms")
	s.hold(t, "name")
	require.NoError(t, s.masters[2].Pause())
	defer s.masters[2].Resume()
	s.prints(t, 0, `(?m)^name +held +2 of 3 `, "muxlock: not scanned: "+s.masters[2].Addr(), "ls --timeout 5s")
}

func TestLsSaysThatItsTimeIsOver(t *testing.T) {
	t.Parallel()
	s := ownSet(t)
	addrs := s.holdAndGoDeaf(t, "name")
	require.Equal(t, "muxlock: --timeout 3s is over: context deadline exceeded\n", s.says(t, exitRun, "ls", "--masters", addrs, "--master-timeout", "4s", "--timeout", "3s"))
	require.Contains(t, s.says(t, exitRun, "ls", "--timeout", "1ns"), "muxlock: --timeout 1ns is over: no quorum of masters: 0 of 3 masters were admitted")
}
