package servertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

func TestUnfitMasterIsSetAsideWithItsCauseAndComesBackWhenFit(t *testing.T) {
	t.Parallel()
	masters := redistest.MastersWith(t, 5, redisserver.Options{Args: []string{"--dbfilename", "dump.rdb"}}) // keeps their folders
	sick := masters[0]
	config := func(key, value string) { redistest.Command(t, sick, "CONFIG", "SET", key, value) }
	config("busy-reply-threshold", "1")
	dir := redistest.Command(t, sick, "CONFIG", "GET", "dir").([]any)[1].(string)
	dump := filepath.Join(dir, "dump.rdb")
	require.Contains(t, dir, "muxlock-redis-", "the test's own folder")

	for _, fault := range []struct {
		name, cause string
		inject      func(t *testing.T)
		cure        func(t *testing.T)
	}{
		{"NOREPLICAS", "NOREPLICAS",
			func(*testing.T) { config("min-replicas-to-write", "1") },
			func(*testing.T) { config("min-replicas-to-write", "0") }},
		{"OOM", "OOM",
			func(*testing.T) { config("maxmemory", "1") },
			func(*testing.T) { config("maxmemory", "0") }},
		{"BUSY", "BUSY",
			func(t *testing.T) {
				w := dialWire(t, sick)
				w.send(t, `EVAL "while true do end" 0`)
				await.True(t, func() bool { return strings.HasPrefix(dialWire(t, sick).do(t, "PING"), "-BUSY") })
			},
			func(t *testing.T) {
				require.Equal(t, "+OK", dialWire(t, sick).do(t, "SCRIPT KILL"))
			}},
		{"MISCONF", "MISCONF",
			func(t *testing.T) {
				require.NoError(t, os.Mkdir(dump, 0o700)) // a folder cannot be replaced by a file
				config("save", "3600 1")
				redistest.Command(t, sick, "BGSAVE")
				await.True(t, func() bool { return strings.HasPrefix(dialWire(t, sick).do(t, "PING"), "-MISCONF") })
			},
			func(t *testing.T) {
				require.NoError(t, os.Remove(dump))
				config("save", "")
			}},
		{"NOAUTH", "NOAUTH",
			func(t *testing.T) {
				w := dialWire(t, sick)
				require.Equal(t, "+OK", w.do(t, "CONFIG SET requirepass new"))
				require.Equal(t, "+OK", w.do(t, "AUTH new"))
				require.Contains(t, w.do(t, "CLIENT KILL TYPE normal SKIPME yes"), ":")
			},
			func(t *testing.T) {
				w := dialWire(t, sick)
				require.Equal(t, "+OK", w.do(t, "AUTH new"))
				require.Equal(t, "+OK", w.do(t, `CONFIG SET requirepass ""`))
			}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			e := open(t, masters)
			fault.inject(t)
			cured := false
			defer func() {
				if !cured {
					fault.cure(t)
				}
			}()
			await.True(t, func() bool {
				cycle(t, e, fmt.Sprint(t.Name(), time.Now().UnixNano()))
				return strings.Contains(strings.ToLower(cause(e, 0)), strings.ToLower(fault.cause))
			}, "set aside because of %s", fault.cause)
			t.Logf("cause: %s", cause(e, 0))
			for range 10 {
				cycle(t, e, t.Name())
			}
			require.Equal(t, 4, upMasters(e))
			require.Positive(t, e.Stats().Masters[0].SetAside)
			cured = true
			fault.cure(t)
			await.Equal(t, 5, func() any { return upMasters(e) }, "comes back by itself")
			require.Empty(t, cause(e, 0))
			lock := heldEverywhere(t, e, masters, 0)
			require.NoError(t, lock.Release(t.Context()))
			redistest.Gone(t, masters, t.Name())
		})
	}
}
