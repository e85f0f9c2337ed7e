package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// renewed is a correct lock in memory that can be kept alive, for as long as lives says of each hold; 0: until it is released.
type renewed struct {
	*leases
	lives func(name string) time.Duration
	still time.Duration // in each call of Until
}

type renewedHeld struct {
	*lease
	done chan struct{}
	r    renewed
}

func (r renewed) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	h, err := r.leases.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return &renewedHeld{h.(*lease), make(chan struct{}), r}, nil
}

func (h *renewedHeld) KeepAlive(most time.Duration) error {
	lives := h.r.lives(h.name)
	if lives == 0 {
		lives = most
	} else {
		time.AfterFunc(lives, func() { close(h.done) })
	}
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	h.until = time.Now().Add(lives)
	return nil
}
func (h *renewedHeld) Done() <-chan struct{} { return h.done }
func (h *renewedHeld) Until() time.Time {
	time.Sleep(h.r.still)
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	return h.until
}

func TestKeptLocksThatAreLostAreCounted(t *testing.T) {
	for _, c := range []struct {
		lives, still time.Duration
		want         Kept
	}{
		{0, 0, Kept{Held: 2}},
		{300 * time.Millisecond, 0, Kept{Held: 5, Lost: 3}},
		{300 * time.Millisecond, 20 * time.Millisecond, Kept{Held: 5, Lost: 3}},
		{400 * time.Millisecond, 90 * time.Millisecond, Kept{Held: 4, Lost: 2, Stopped: 2}}, // the process stands still each time
	} {
		cfg := Config{Workers: 2, Keys: 2, Kept: 2, Dist: Uniform(), Hold: Fixed(time.Millisecond), KeyPrefix: "k", Duration: time.Second, TTL: 100 * time.Millisecond}
		l := renewed{newLeases(1, time.Millisecond), func(name string) time.Duration {
			if name == "k3" {
				return c.lives
			}
			return 0
		}, c.still}
		r := measure(t, l, cfg)
		require.Equal(t, &c.want, r.Kept)
		require.Equal(t, 2, r.Keys)
		require.Zero(t, r.Safety.Overlaps)
	}
}

func TestLocksThatAreKeptCountTheirFences(t *testing.T) {
	l := renewed{newFencedLeases(growing).leases, func(string) time.Duration { return 0 }, 0}
	r := measure(t, l, Config{Workers: 2, Keys: 4, Op: Hold, Duration: 50 * time.Millisecond, TTL: time.Second})
	require.EqualValues(t, 4, r.Totals.Fenced)
}

// Two processes want each kept name. One has it, and the other gets it when it is lost.
func TestTwoWhoKeepOneLockAreSeen(t *testing.T) {
	cfg := Config{Workers: 1, Procs: 2, Keys: 2, Kept: 1, Dist: Uniform(), Hold: Fixed(time.Millisecond), KeyPrefix: "k", Duration: 400 * time.Millisecond, TTL: 100 * time.Millisecond}
	lives := func(string) time.Duration { return 0 }
	r := inParts(t, renewed{newLeases(1, time.Millisecond), lives, 0}, cfg)
	require.Equal(t, &Kept{Held: 1}, r.Kept)
	require.Zero(t, r.Safety.Overlaps)
	r = inParts(t, renewed{newLeases(2, time.Millisecond), lives, 0}, cfg)
	require.EqualValues(t, 2, r.Kept.Held)
	require.Positive(t, r.Safety.Overlaps)
	r = inParts(t, renewed{newLeases(1, time.Millisecond), func(string) time.Duration { return 150 * time.Millisecond }, 0}, cfg)
	require.Positive(t, r.Kept.Lost)
	require.Zero(t, r.Safety.Overlaps)
}
