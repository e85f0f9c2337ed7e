package pipeline

import (
	"context"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadingEndsAtOnceWhenThePipelineClosedWhileItsDeadlineWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		here, there := net.Pipe()
		defer there.Close()
		w := wire{conn: here, ctx: ctx, overdue: func(now time.Time) (time.Time, error) {
			if ctx.Err() != nil {
				return now, errClosing
			}
			cancel() // and what its AfterFunc sets comes before the reader's own
			require.NoError(t, here.SetReadDeadline(now))
			return now.Add(time.Hour), nil
		}}
		require.NoError(t, w.listenUntil(time.Now().Add(time.Second)))
		begin := time.Now()
		_, err := w.Read(make([]byte, 1))
		require.ErrorIs(t, err, errClosing)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))
	})
}
