package pipeline

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// Redis before 7 puts the place in the script in front of the error.
func TestKeyOfAnotherTypeIsARefusalAtAnOlderServer(t *testing.T) {
	for _, op := range []Op{Extend, Release} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.started()
			q := releaseOf("a", b.mustAcquire("a").Origin)
			q.Op = op
			for _, f := range b.fakes {
				f.set(func() {
					f.hook = answering("-ERR Error running script (call to f_0): @user_script:5: WRONGTYPE Operation against a key\r\n", "EVALSHA")
				})
			}
			out, err := b.p.Do(context.Background(), q)
			require.NoError(t, err)
			require.Equal(t, quorum.Denied, out.Verdict, "%+v", out)
		})
	}
}
