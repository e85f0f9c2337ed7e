package redsync

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/engine"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) {
	os.Exit(shared.Run(m, func() error { return goleak.Find() }))
}

// shared are five masters for tests that leave them as they were.
var shared = redistest.Shared{N: 5}

// five returns the shared masters.
var five = shared.Masters

// open connects an engine to the shared masters, closed at cleanup.
func open(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{
		Masters: redistest.Addrs(five(t)), MastersAreNew: true, MasterTimeout: 2 * time.Second, HandOverTime: time.Minute,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

var names atomic.Int64

// newName returns a name that no test has used.
func newName(t testing.TB) string { return fmt.Sprint(t.Name(), " ", names.Add(1)) }

func unlock(t testing.TB, m *Mutex) {
	t.Helper()
	ok, err := m.Unlock()
	require.NoError(t, err)
	require.True(t, ok)
}
