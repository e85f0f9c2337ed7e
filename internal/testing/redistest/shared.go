package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
)

// Shared are N masters for the tests of one package that leave them as they were. The first test that asks starts them.
type Shared struct {
	N       int
	once    sync.Once
	masters []*redisserver.Server // set by once; stopped by Run
	err     error                 // set by once
}

// Masters returns the shared masters. Without a server program it skips the test, as the function Masters does.
func (s *Shared) Masters(t testing.TB) []*redisserver.Server {
	t.Helper()
	NeedServer(t)
	s.once.Do(func() { s.masters, s.err = redisserver.StartN(context.Background(), s.N, redisserver.Options{}) })
	require.NoError(t, s.err)
	return s.masters
}

// Run runs the tests of the package, a *testing.M, stops the masters, and returns the exit code for TestMain. After
// tests that passed it also looks for leaks, such as goroutines that still run.
func (s *Shared) Run(m interface{ Run() int }, leaks func() error) int {
	code := m.Run()
	err := redisserver.StopAll(s.masters)
	if code == 0 {
		err = errors.Join(err, leaks())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
