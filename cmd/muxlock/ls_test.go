package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisfake"
	"muxlock/internal/resp"
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
		return (&lsFlags{settings: &settings{prefix: "jobs/"}, limit: 10}).scan(context.Background(), "192.0.2.1:6379", rueidis.ClientOption{DialCtxFn: master.Dial}, "")
	}
	names, err := scan()
	require.NoError(t, err)
	require.Equal(t, map[lockKey]bool{{"7", -1}: true, {"7", 3}: true}, names)

	page = "$-2\r\n"
	_, err = scan()
	require.ErrorIs(t, err, resp.ErrProtocol)
}
