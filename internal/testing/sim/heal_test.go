package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisfake"
	"muxlock/internal/testing/faultconn"
)

// A master was away until it lost all keys, and another one hangs by the time it votes again. So no renewal finds a quorum before
// the heal. Locks whose validity ends sooner are lost; the others are not, since a heal is followed by a renewal at once.
func TestAMasterThatVotesInTimeKeepsTheLocksThatItLacks(t *testing.T) {
	const (
		locks  = 40
		enough = 75 * time.Millisecond // to see that a master votes, and for three round trips
		retry  = 83 * time.Millisecond // a renewal that failed comes again after so long
	)
	tight := 0 // locks that a second try of the renewal could have been too late for
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			var masters []*redisfake.Server
			var links []*faultconn.Link
			for range 3 {
				m, l := redisfake.New(), faultconn.NewLink()
				masters, links = append(masters, m), append(links, l)
				t.Cleanup(m.Close)
				t.Cleanup(l.Cut)
			}
			cfg := engine.Config{MastersAreNew: true, MaxTTL: 2 * time.Second, TTL: 2 * time.Second, MasterTimeout: 50 * time.Millisecond}
			reach(&cfg, masters, func(i int) *faultconn.Link { return links[i] })
			e, err := engine.New(t.Context(), cfg)
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			var all []*engine.Lock
			for i := range locks {
				lock, err := e.Acquire(t.Context(), fmt.Sprint(i), 0)
				require.NoError(t, err)
				require.NoError(t, lock.KeepAlive(0))
				all = append(all, lock)
				time.Sleep(16 * time.Millisecond) // they are renewed at different times
			}
			links[0].BlackHole(true)
			time.Sleep(3 * time.Second)
			links[1].BlackHole(true)
			time.Sleep(1600 * time.Millisecond)
			links[0].BlackHole(false)
			for e.Stats().Masters[0].Cause != nil {
				time.Sleep(time.Millisecond)
			}
			var left []time.Duration
			for _, lock := range all {
				left = append(left, time.Until(lock.Until()))
			}
			time.Sleep(2 * time.Second)
			for i, lock := range all {
				if left[i] > enough {
					require.NoError(t, lock.Err(), "it had %v left", left[i])
					if left[i] < enough+retry {
						tight++
					}
				}
			}
		})
	}
	require.Positive(t, tight)
}
