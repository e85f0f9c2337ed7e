package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/draw"
)

// A census knows all locks that were given out, and sees two valid ones of a name.
type census struct {
	s     *scripted
	mu    sync.Mutex // guards the following
	locks map[string][]*Lock
	found error
}

// add counts a lock. Its end is final: one that is valid now was so when the new one was.
func (c *census) add(l *Lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := l.Valid()
	valid := []*Lock{l}
	for _, other := range c.locks[l.Name()] {
		if other.Valid() {
			valid = append(valid, other)
		}
	}
	if c.locks[l.Name()] = valid; fresh && len(valid) > 1 {
		c.found = errors.Join(c.found, fmt.Errorf("%s is held twice", l.Name()))
	}
}

// check looks whether the masters have the key of a valid lock for as long as it is valid.
func (c *census) check(l *Lock) {
	before, until := l.Valid(), l.Until()
	c.s.mu.Lock()
	k := c.s.keys[l.Name()]
	c.s.mu.Unlock()
	if before && l.Valid() && (k.token != l.lease.token || k.ends.Before(until)) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.found = errors.Join(c.found, fmt.Errorf("%s is valid and not at the masters", l.Name()))
	}
}

func TestTheCensusSeesTwoHolders(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		c := census{s: s, locks: make(map[string][]*Lock)}
		c.add(mustAcquire(t, e, "other", 0))
		first := mustAcquire(t, e, "name", 0)
		c.add(first)
		c.check(first)
		require.NoError(t, c.found)
		e.names.init() // forgets who holds what
		s.drop("name")
		c.check(first)
		require.ErrorContains(t, c.found, "not at the masters")
		c.add(mustAcquire(t, e, "name", 0))
		require.ErrorContains(t, c.found, "held twice")
	})
}

// everything has eight goroutines do what a user can do, to three names. It returns what was
// done and came about, how often.
func everything(t *testing.T, e *Engine, s *scripted, steps int) (did map[string]int) {
	t.Helper()
	seed := draw.Seed(t)
	c := census{s: s, locks: make(map[string][]*Lock)}
	did = make(map[string]int)
	note := func(what string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		did[what]++
	}
	var work sync.WaitGroup
	for g := range 8 {
		r := rand.New(rand.NewPCG(seed, uint64(g)))
		some := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
		use := func(lock *Lock) {
			c.add(lock)
			for range r.IntN(3) {
				switch r.IntN(5) {
				case 0:
					ctx, cancel := context.WithTimeout(context.Background(), some(3*time.Millisecond))
					if lock.Extend(ctx, 10*time.Millisecond+some(80*time.Millisecond)) == nil {
						note("extended")
					}
					cancel()
				case 1:
					_ = lock.KeepAlive(some(60 * time.Millisecond))
				case 2:
					_ = lock.WarnBefore(some(20*time.Millisecond)+1, func() { note("warned") })
				default:
					time.Sleep(some(4 * time.Millisecond))
				}
				c.check(lock)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			switch r.IntN(12) {
			case 0:
				note("never released")
				return
			case 1:
				<-lock.Done()
			case 2:
				cancel()
			}
			err := lock.Release(ctx)
			switch {
			case err == nil:
				note("released")
			case lock.Valid():
				note("valid after its release")
			default:
				note("not released")
			}
		}
		work.Go(func() {
			for range steps {
				ctx, cancel := context.WithTimeout(context.Background(), some(30*time.Millisecond))
				acquire := e.Acquire
				if r.IntN(4) == 0 {
					acquire = e.TryAcquire
				}
				lock, err := acquire(ctx, fmt.Sprint("name", r.IntN(3)), 10*time.Millisecond+some(40*time.Millisecond))
				cancel()
				switch {
				case err == nil:
					note("acquired")
					use(lock)
				case errors.Is(err, context.DeadlineExceeded):
					note("left")
				default:
					note("refused")
				}
				if r.IntN(50) == 0 {
					s.set(func() { s.away, s.delay = !s.away, some(3*time.Millisecond) })
				}
			}
		})
	}
	work.Wait()
	c.mu.Lock() // warnings still come
	require.NoError(t, c.found, "seed %d", seed)
	require.Zero(t, did["valid after its release"])
	c.mu.Unlock()
	require.Zero(t, e.Stats().Waiting)
	require.LessOrEqual(t, namesOf(e), 3)
	s.set(func() { s.away = false })
	time.Sleep(200 * time.Millisecond) // all leases have run out
	for i := range 3 {
		cycle(t, e, fmt.Sprint("name", i))
	}
	require.Zero(t, namesOf(e), "nobody contends without asking")
	c.mu.Lock()
	defer c.mu.Unlock()
	did["handed over"], did["renewed"] = int(e.Stats().HandedOver), int(e.Stats().Renewed)
	t.Logf("%v", did)
	return did
}

// missing returns what has not come about.
func missing(did map[string]int) (kinds []string) {
	for _, what := range []string{"acquired", "left", "refused", "released", "not released", "never released", "extended", "warned", "handed over", "renewed"} {
		if did[what] == 0 {
			kinds = append(kinds, what)
		}
	}
	return kinds
}

func TestRandomUseNeverHasTwoHolders(t *testing.T) {
	for range 5 {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) { require.Empty(t, missing(everything(t, e, s, 1000))) },
			masterTimeout(time.Millisecond))
	}
}

func TestRandomUseNeverHasTwoHoldersInRealTime(t *testing.T) {
	did := make(map[string]int)
	for round := 0; round == 0 || len(missing(did)) > 0; round++ { // a busy machine takes more of them
		require.Less(t, round, 20, "never came about: %v", missing(did))
		s := &scripted{delay: time.Millisecond, keys: make(map[string]scriptedKey)}
		cfg := Config{Masters: make([]string, 5), MasterTimeout: time.Millisecond, HandOverTime: 5 * time.Millisecond}
		e := newEngine(cfg.withDefaults(), s, new(record))
		for what, n := range everything(t, e, s, 150) {
			did[what] += n
		}
		require.NoError(t, e.Close())
	}
}
