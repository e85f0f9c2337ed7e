package await

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// verdict is a test whose failure is kept.
type verdict struct {
	testing.TB
	text string
}

func (v *verdict) Errorf(format string, args ...any) { v.text += args[0].(string) }
func (v *verdict) FailNow()                          { panic(v) }

func TestWhatNeverComesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, begun := &verdict{TB: t}, time.Now()
		require.PanicsWithValue(t, v, func() { True(v, func() bool { return false }, "a lock") })
		require.Contains(t, v.text, "still not so after 15s")
		require.Contains(t, v.text, "a lock")
		require.Equal(t, limit, time.Since(begun).Round(time.Second))

		v = &verdict{TB: t}
		require.PanicsWithValue(t, v, func() { Within(v, time.Second, func() bool { return false }) })
		require.Contains(t, v.text, "still not so after 1s")

		v = &verdict{TB: t}
		require.PanicsWithValue(t, v, func() { Equal(v, 3, func() any { return int64(2) }, "masters") })
		require.Regexp(t, `(?s)expected: .*3.*actual.*: .*2.*masters`, v.text)
	})
}

func TestWhatComesEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		after := func(d time.Duration) func() bool { return func() bool { return time.Since(begun) >= d } }
		True(t, after(10*time.Second))
		Within(t, 2*time.Second, after(11*time.Second))
		require.Equal(t, 11*time.Second, time.Since(begun).Round(10*time.Millisecond))
		Equal(t, 20, func() any { return int64(time.Since(begun) / time.Second) })
		require.Equal(t, 20*time.Second, time.Since(begun).Round(10*time.Millisecond))
	})
}
