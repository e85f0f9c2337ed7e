package engine

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
	"muxlock/internal/redistest"
)

// documentedRights returns the rules of the user in the package's documentation: what is
// needed, what only makes it faster, and what fencing needs.
func documentedRights(t *testing.T) (needed, faster, fencing []string) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^//\tACL SETUSER locks (.*)$`).FindAllSubmatch(doc, -1)
	require.Len(t, lines, 3)
	return strings.Fields(strings.ReplaceAll(string(lines[0][1]), "'", "")), strings.Fields(string(lines[1][1])), strings.Fields(string(lines[2][1]))
}

// openAs opens an engine for the documented user with these rules.
func openAs(t *testing.T, masters []*redisserver.Server, rights []string, changes ...func(*Config)) (*Engine, error) {
	t.Helper()
	for _, m := range masters {
		redistest.Command(t, m, append([]string{"ACL", "SETUSER", "locks", "reset"}, rights...)...)
	}
	cfg := Config{
		Masters: redistest.Addrs(masters), MastersAreNew: true,
		Client: rueidis.ClientOption{Username: "locks", Password: "PASSWORD"},
	}
	e, err := New(t.Context(), cfg.with(changes...))
	if err == nil {
		t.Cleanup(func() { require.NoError(t, e.Close()) })
	}
	return e, err
}

func TestLeastPrivilegesAreAllNeeded(t *testing.T) {
	masters := redistest.Masters(t, 1)
	needed, _, _ := documentedRights(t)
	without := 0
	for i, right := range needed {
		command, isCommand := strings.CutPrefix(right, "+")
		if !isCommand && !strings.HasPrefix(right, "~__muxlock__") {
			continue
		}
		rest := append(append([]string(nil), needed[:i]...), needed[i+1:]...)
		_, err := openAs(t, masters, rest)
		require.ErrorIs(t, err, ErrInvalid, right)
		require.ErrorContains(t, err, "NOPERM", right)
		if isCommand {
			require.Contains(t, strings.ToLower(err.Error()), command)
		}
		without++
	}
	require.Equal(t, 9, without)
}

func TestLeastPrivilegesSuffice(t *testing.T) {
	masters := redistest.Masters(t, 3)
	needed, faster, _ := documentedRights(t)
	require.ElementsMatch(t, []string{"+mget", "+client|tracking", "+client|caching"}, faster)
	for _, rights := range [][]string{needed, append(needed, faster...)} {
		e, err := openAs(t, masters, rights)
		require.NoError(t, err)
		var callers sync.WaitGroup
		for i := range 64 { // some rounds are folded, some waiters are woken or poll
			callers.Go(func() {
				for turn := range 10 {
					lock, err := e.Acquire(t.Context(), fmt.Sprint("locks:", (i+turn)%40), 0)
					if err == nil {
						err = lock.Extend(t.Context(), 0)
					}
					if err == nil {
						err = lock.Release(t.Context())
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
		for _, m := range e.Stats().Masters {
			require.Zero(t, m.SetAside, "%v", m.Cause)
		}
		require.NoError(t, e.Close())
		soon(t, func() bool { return len(redistest.Keys(t, masters...)) == 0 })
	}
}

func TestFencingNeedsItsDocumentedRights(t *testing.T) {
	masters := fencedSet(t, 1)
	needed, _, fencing := documentedRights(t)
	all := append(needed, fencing...)
	for i := len(needed); i < len(all); i++ {
		_, err := openAs(t, masters, slices.Concat(all[:i], all[i+1:]), fenced)
		require.ErrorIs(t, err, ErrInvalid, all[i])
		require.ErrorContains(t, err, "NOPERM", all[i])
	}
	e, err := openAs(t, masters, all, fenced)
	require.NoError(t, err)
	lock, err := e.Acquire(t.Context(), "locks:"+t.Name(), 0)
	require.NoError(t, err)
	require.NotZero(t, lock.Fence())
	require.NoError(t, lock.Release(t.Context()))
}
