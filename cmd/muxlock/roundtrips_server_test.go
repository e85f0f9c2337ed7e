package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestTheCommandIsStartedAfterFiveRoundTrips(t *testing.T) {
	t.Parallel()
	const want = 5 // connect, greeting, probe, trial, lock
	var mu sync.Mutex
	var trips [3]int // to each master, until the request for the lock
	var found [3]bool
	var addrs []string
	for i, addr := range redistest.Addrs(redistest.Masters(t, 3)) {
		trips[i] = 1 // the first connection
		addrs = append(addrs, proxy(t, addr, func() func([]byte, bool) bool {
			asking := false // the last piece was a request: one after a reply begins a round trip
			return func(piece []byte, request bool) bool {
				mu.Lock()
				defer mu.Unlock()
				if request && !asking && !found[i] {
					trips[i]++
				}
				asking = request
				found[i] = found[i] || request && bytes.Contains(piece, []byte("\r\nthe-name\r\n"))
				return true
			}
		}))
	}
	bare.ok(t, "exec the-name --new-masters --master-timeout 2s --masters "+strings.Join(addrs, ",")+" -- true")
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, [3]bool{true, true, true}, found)
	require.Equal(t, [3]int{want, want, want}, trips)
}
