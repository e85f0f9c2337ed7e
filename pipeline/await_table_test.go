package pipeline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each read of a name that a full table has no room for evicts another name, and a push says that this one has changed.
func TestFullTrackingTableIsReadRarely(t *testing.T) {
	const names, room = 30, 10
	for _, masters := range []int{1, 3} {
		for _, state := range []string{"held", "absent from one"} {
			t.Run(fmt.Sprint(masters, " masters, ", state), func(t *testing.T) {
				overMasters(t, masters, func(t *testing.T, b *bubble) {
					setAll(b.fakes, func(f *fake) { f.table = room })
					ctx, cancel := context.WithCancel(t.Context())
					var waiting sync.WaitGroup
					var wakes atomic.Int64
					for n := range names {
						name := fmt.Sprint("name", n)
						hold(name, b.fakes, hour)
						if masters > 1 && state != "held" {
							free(name, b.fakes[:1])
						}
						waiting.Go(func() {
							for b.p.Await(ctx, name, hour) == nil {
								wakes.Add(1)
								time.Sleep(time.Millisecond) // as a contender asks for it, in vain
							}
						})
					}
					time.Sleep(20 * time.Second)
					require.LessOrEqual(t, wakes.Load(), int64(8*names))
					before, woken := b.reads(), wakes.Load()
					time.Sleep(10 * time.Second)
					require.Greater(t, b.reads()-before, uint64(0), "the table is full")
					require.LessOrEqual(t, b.reads()-before, uint64(10*names*masters), "a name is read once in a second")
					require.Equal(t, woken, wakes.Load())

					free("name0", b.fakes)
					a := b.await("name0", hour)
					a.requireWokenWithin(time.Now(), 1100*time.Millisecond)
					cancel()
					waiting.Wait()
					b.requireNothingAwaited()

					setAll(b.fakes, func(f *fake) { f.table = 0 })
					for late := time.Second; ; late = 0 { // pushes are trusted again after a release
						hold("name0", b.fakes, hour)
						a := b.await("name0", hour)
						a.requireWaiting(2 * time.Second)
						start := time.Now()
						free("name0", b.fakes)
						a.requireWokenWithin(start, late)
						if late == 0 {
							break
						}
					}
				})
			})
		}
	}
}

func TestExtendsAndHandOversDoNotMakeWakeUpsSlow(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		for turn := range 20 {
			hold("a", b.fakes, time.Minute)
			for extend := range 10 {
				a := b.await("a", hour)
				a.requireWaiting(10 * time.Millisecond)
				for _, f := range b.fakes {
					f.set(func() {
						f.extendLocked("a", "token of a", fmt.Sprint((time.Minute + time.Duration(turn+extend)*time.Second).Milliseconds()))
					})
				}
				a.cancel()
				<-a.done
			}
			a := b.await("a", hour)
			a.requireWaiting(10 * time.Millisecond)
			start := time.Now()
			free("a", b.fakes)
			a.requireWoken(start)
		}
	})
}

// Each holder asks for the same ttl, so the ends of their leases are as near as the ends that two reads of one lease show.
func TestHandOversThatFollowSoonDoNotMakeWakeUpsSlow(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		for range 200 {
			hold("a", b.fakes, time.Minute)
			a := b.await("a", hour)
			a.requireWaiting(2000 * time.Microsecond)
			start := time.Now()
			free("a", b.fakes)
			a.requireWoken(start)
		}
	})
}
