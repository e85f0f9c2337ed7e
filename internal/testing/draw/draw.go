// Package draw gives tests what they draw their input from, so that they can draw the same again.
package draw

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"
)

// Env names an environment variable. CI sets it to a number of the commit.
const Env = "MUXLOCK_SEED"

// Seed returns the seed of a test. It follows from Env and the test's name; where Env is not set, from another number each time.
// The test's log has the command that repeats it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	number := os.Getenv(Env)
	if number == "" {
		number = fmt.Sprint(rand.Uint32())
	}
	t.Logf("to repeat it: %s=%s go test -run '^%s$'", Env, number, t.Name())
	h := fnv.New64a()
	fmt.Fprint(h, number, t.Name())
	return h.Sum64()
}
