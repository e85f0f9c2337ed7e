package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisfake"
	"muxlock/pipeline/internal/conn"
)

// Names and tokens are bytes: whatever they hold, a server must read what was meant.
func FuzzBatchCarriesAnyBytes(f *testing.F) {
	f.Add("name", "token", uint8(1), uint8(0))
	f.Add("\x00\r\n$5\r\n{x}\xff", "", uint8(9), uint8(1))
	f.Fuzz(func(t *testing.T, name, token string, n, op uint8) {
		entries := make([]Request, 1+int(n)%20)
		for i := range entries {
			entries[i] = Request{Op: Op((int(op) + i) % 3), Name: name, Token: token, TTL: time.Duration(1+i%3) * time.Second}
		}
		var folded, plain conn.Batch
		for i := range entries {
			plain.Plain(&entries[i], 0)
		}
		in := string(plain.Bytes())
		for range entries {
			args, rest, err := redisfake.CutCommand(in)
			require.NoError(t, err)
			require.Contains(t, args, name)
			require.Contains(t, args, token)
			in = rest
		}
		require.Empty(t, in)
		for i := range entries {
			entries[i].Op = max(entries[i].Op, Extend)
		}
		folded.Fold(entries, 0)
		args, _, err := redisfake.CutCommand(string(folded.Bytes()))
		require.NoError(t, err)
		for i, e := range batchEntries(args) {
			require.Equal(t, entries[i].Op, e.op)
			require.Equal(t, name, e.name)
			require.Equal(t, token, e.token)
		}
	})
}
