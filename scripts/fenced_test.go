package scripts

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// fencedOnce acquires random names with fencing, in one call, and returns the answer and what
// is left. Some are held or of another type, and some registers hold no token.
func fencedOnce(m testMaster, seed uint64, script string, more ...string) string {
	rng := rand.New(rand.NewPCG(seed, 0))
	m.text("FLUSHALL")
	m.text("SET", fencedSet, "the set")
	m.text("SET", fencedMark, "the mark")
	var entries []entry
	keys := []string{fencedRegisters}
	for i := range 2 + rng.IntN(40) {
		name := fmt.Sprint("name", i)
		switch rng.IntN(20) {
		case 0:
			m.text("SET", name, "another", "PX", "500000")
		case 1:
			m.number("RPUSH", name, "x")
		case 2:
			m.number("HSET", fencedRegisters, fmt.Sprint(i), "text")
		case 3:
			m.number("HSET", fencedRegisters, fmt.Sprint(i), "7000000")
		}
		entries, keys = append(entries, entry{name, fmt.Sprint("token", i), "300000"}), append(keys, name)
	}
	reply := m.text(append(fencedCommand(script, entries), more...)...)
	registers, err := m.do("HGETALL", fencedRegisters).AsStrMap()
	require.NoError(m.t, err)
	return fmt.Sprint(reply, "\n", registers, "\n", m.state(keys[1:]))
}

// Where the server has no MSETEX, this is that the script goes on without.
func TestFencedAcquireIsTheSameWithMSETEX(t *testing.T) {
	m := newMaster(t)
	if m.do("MSETEX", "1", "a", "b").Error() != nil {
		t.Log("the server has no MSETEX")
	}
	for seed := range uint64(100) {
		require.Equal(t, fencedOnce(m, seed, FencedAcquire.SHA1), fencedOnce(m, seed, FencedAcquire.SHA1, "msetex"), "seed %d", seed)
	}
}
