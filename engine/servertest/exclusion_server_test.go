package servertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/draw"
	"muxlock/internal/testing/redistest"
)

// A holding is the time in which one holder of a name could rely on its lock.
type holding struct {
	name     string
	from, to time.Time
	fence    uint64 // 0: none
}

// overlap returns an error if two holdings of one name share a moment, or if the fence of a
// later one is not larger.
func overlap(holdings []holding) error {
	slices.SortFunc(holdings, func(a, b holding) int {
		if a.name != b.name {
			return map[bool]int{true: -1, false: 1}[a.name < b.name]
		}
		return a.from.Compare(b.from)
	})
	var last holding // of the name, the one that ended last
	var fenced holding
	for _, h := range holdings {
		switch {
		case !h.from.Before(h.to):
			continue // never valid
		case h.name == last.name && h.from.Before(last.to):
			return fmt.Errorf("%s: held from %v for %v and again %v later", h.name, last.from, last.to.Sub(last.from), h.from.Sub(last.from))
		}
		last = h
		if h.fence > 0 {
			if h.name == fenced.name && h.fence <= fenced.fence {
				return fmt.Errorf("%s: fence %d after %d", h.name, h.fence, fenced.fence)
			}
			fenced = h
		}
	}
	return nil
}

func TestTheAuditSeesAPlantedOverlap(t *testing.T) {
	base := time.Now()
	at := func(name string, from, to int) holding {
		return holding{name, base.Add(time.Duration(from)), base.Add(time.Duration(to)), 0}
	}
	require.NoError(t, overlap(nil))
	require.NoError(t, overlap([]holding{at("a", 5, 9), at("b", 0, 9), at("a", 0, 5)}))
	require.NoError(t, overlap([]holding{at("a", 0, 5), at("a", 4, 4)}), "never valid")
	require.Error(t, overlap([]holding{at("a", 5, 9), at("b", 0, 9), at("a", 0, 6)}))
	require.Error(t, overlap([]holding{at("a", 0, 100), at("a", 1, 2), at("b", 3, 4), at("a", 50, 51)}))
	require.Error(t, overlap([]holding{at("a", 0, 5), at("a", 0, 5)}))
	with := func(h holding, fence uint64) holding { h.fence = fence; return h }
	require.NoError(t, overlap([]holding{with(at("a", 0, 5), 7), at("a", 5, 6), with(at("a", 6, 7), 8), with(at("b", 0, 1), 1)}))
	require.Error(t, overlap([]holding{with(at("a", 0, 5), 7), at("a", 5, 6), with(at("a", 6, 7), 7)}))
}

func TestHoldersNeverOverlapWhileConnectionsAreKilled(t *testing.T) {
	t.Parallel()
	for fleet, fenced := range map[string][3]bool{
		"without fencing": {}, "with fencing": {true, true, true}, "half with fencing": {true, false, true},
	} {
		t.Run(fleet, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && fenced[0] == fenced[1] {
				t.Skip("one fleet does all that two do")
			}
			holdersNeverOverlap(t, fenced)
		})
	}
}

// holdersNeverOverlap runs three engines, with or without fencing.
func holdersNeverOverlap(t *testing.T, fenced [3]bool) {
	masters := fencedSet(t, 5)
	seed := draw.Seed(t)
	const holds, kills = 300, 50
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex // guards the following
	var holdings []holding
	kinds := make(map[string]int)
	held := make(chan struct{}, 1000)
	var work sync.WaitGroup
	for n := range 3 {
		var e *engine.Engine // short leases want an impatient one, and a busy machine may fail it
		cfg := engine.Config{Masters: redistest.Addrs(masters), MasterTimeout: 30 * time.Millisecond, RetryHeld: 2 * time.Millisecond, MastersAreDurable: true, Fencing: fenced[n]}
		await.True(t, func() bool {
			fresh, err := engine.New(ctx, cfg)
			if err == nil {
				e = fresh
			}
			return err == nil
		})
		defer func() { require.NoError(t, e.Close()) }()
		for g := range 16 {
			work.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(n*100+g)))
				for ctx.Err() == nil {
					name := fmt.Sprint(t.Name(), r.IntN(4))
					ttl := time.Duration(40+r.IntN(60)) * time.Millisecond
					lock, err := e.Acquire(ctx, name, ttl)
					if err != nil {
						continue
					}
					h := holding{name, time.Now(), lock.Until(), lock.Fence()}
					kind := "released"
					switch r.IntN(10) {
					case 0: // forgotten: the lease runs out
						kind = "expired"
						<-lock.Done()
					case 1, 2:
						if lock.Extend(ctx, 2*ttl) == nil {
							h.to = lock.Until()
							kind = "extended"
						}
						fallthrough
					default:
						time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond)
						if before := time.Now(); before.Before(h.to) {
							h.to = before
						}
						if err := lock.Release(context.Background()); errors.Is(err, engine.ErrNotHeld) && h.to.Before(lock.Until()) {
							kind = "gone before release"
						}
					}
					mu.Lock()
					holdings = append(holdings, h)
					kinds[kind]++
					mu.Unlock()
					select {
					case held <- struct{}{}:
					case <-ctx.Done():
					}
				}
			})
		}
	}
	r := rand.New(rand.NewPCG(seed, 1<<32))
	for killed, seen := 0, 0; seen < holds || killed < kills; killed++ {
		w := dialWire(t, masters[r.IntN(len(masters))])
		w.do(t, "CLIENT KILL TYPE normal SKIPME yes")
		w.Close()
		for range r.IntN(2 * holds / kills) { // kills in the measure of the holds: a busy machine connects slowly
			select {
			case <-held:
				seen++
			case <-ctx.Done():
				require.NoError(t, ctx.Err(), "%d held", seen)
			}
		}
		time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond) // a random moment of the next attempts
	}
	cancel()
	work.Wait()
	t.Logf("%d holdings: %v", len(holdings), kinds)
	withFence := slices.ContainsFunc(holdings, func(h holding) bool { return h.fence > 0 })
	require.Equal(t, fenced[0], withFence)
	require.NoError(t, overlap(holdings), "seed %d", seed)
	await.Equal(t, 0, func() any { return len(ownKeys(t, masters)) })
}
