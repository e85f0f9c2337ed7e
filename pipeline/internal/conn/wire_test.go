package conn

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errEnd = errors.New("reading is over")

func TestReadingEndsAtOnceWhenThePipelineClosedWhileItsDeadlineWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		here, there := net.Pipe()
		defer there.Close()
		w := wire{conn: here, Ctx: ctx, Overdue: func(now time.Time) (time.Time, error) {
			if ctx.Err() != nil {
				return now, errEnd
			}
			cancel() // and what its AfterFunc sets comes before the reader's own
			require.NoError(t, here.SetReadDeadline(now))
			return now.Add(time.Hour), nil
		}}
		require.NoError(t, w.ListenUntil(time.Now().Add(time.Second)))
		begin := time.Now()
		_, err := w.Read(make([]byte, 1))
		require.ErrorIs(t, err, errEnd)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))
	})
}
