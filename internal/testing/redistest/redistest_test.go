package redistest

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verdict is a testing.TB that remembers how a test ended.
type verdict struct {
	testing.TB
	skipped, failed bool
}

func (v *verdict) Skip(...any)           { v.skipped = true; panic(v) }
func (v *verdict) Errorf(string, ...any) { v.failed = true }
func (v *verdict) FailNow()              { panic(v) }

func TestMissingServerSkipsUnlessRequired(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(QuickEnv, "")

	t.Setenv(RequireEnv, "")
	v := &verdict{TB: t}
	require.PanicsWithValue(t, v, func() { Masters(v, 1) })
	require.True(t, v.skipped)
	require.False(t, v.failed)

	t.Setenv(RequireEnv, "1")
	v = &verdict{TB: t}
	require.PanicsWithValue(t, v, func() { Masters(v, 1) })
	require.True(t, v.failed)
	require.False(t, v.skipped)

	t.Setenv(QuickEnv, "1")
	v = &verdict{TB: t}
	require.PanicsWithValue(t, v, func() { NeedProcess(v) })
	require.True(t, v.skipped)
}

func TestErrorReplyFailsTheTest(t *testing.T) {
	master := Masters(t, 1)[0]
	v := &verdict{TB: t}
	require.PanicsWithValue(t, v, func() { Command(v, master, "NO-SUCH-COMMAND") })
	require.True(t, v.failed)
}

// tests stands for the tests of a package: their exit code.
type tests int

func (code tests) Run() int { return int(code) }

func TestSharedMastersStartOnceAndStopAfterTheTests(t *testing.T) {
	shared := Shared{N: 2}
	masters := shared.Masters(t)
	require.Len(t, masters, 2)
	require.Equal(t, masters, shared.Masters(t))
	leak := func() error { return errors.New("a goroutine still runs") }
	require.Equal(t, 3, shared.Run(tests(3), leak), "the tests' own")
	for _, m := range masters {
		require.Error(t, m.Resume(), "no process")
	}
	require.Equal(t, 1, shared.Run(tests(0), leak))
	require.Zero(t, shared.Run(tests(0), func() error { return nil }))
}

func TestPortOfAMasterThatIsDownRefusesAndIsNobodysElse(t *testing.T) {
	master := Masters(t, 1)[0]
	c, err := net.Dial("tcp", master.Addr())
	require.NoError(t, err)
	defer c.Close()
	for range 3 {
		up := Down(t, master)
		_, err = net.Dial("tcp", master.Addr())
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, err = net.Listen("tcp", master.Addr())
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		up()
		require.Equal(t, "PONG", Command(t, master, "PING"))
	}
}
