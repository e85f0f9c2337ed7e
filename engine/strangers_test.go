package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

const (
	wantedFor  = 10 * time.Second
	wantedHold = 2 * time.Millisecond
)

// wanted has eight goroutines of each engine and eight of a stranger want one name, and returns how often
// each got it. The stranger's ask every 20 ms, with values of its own.
func wanted(t *testing.T, s *scripted, strangers int, engines ...*Engine) (holds []int64, strange int64) {
	ctx, cancel := context.WithTimeout(t.Context(), wantedFor)
	defer cancel()
	var all sync.WaitGroup
	counts := make([]atomic.Int64, len(engines)+1)
	for i, e := range engines {
		for range 8 {
			all.Go(func() {
				for {
					lock, err := e.Acquire(ctx, "name", 0)
					if err != nil {
						return
					}
					counts[i].Add(1)
					time.Sleep(wantedHold)
					if err := lock.Release(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	for i := range strangers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rng.Int64N(int64(40 * time.Millisecond))))
				req := pipeline.Request{Op: pipeline.Acquire, Name: "name", Token: strangersValue(), TTL: 8 * time.Second}
				if out, err := s.Do(context.Background(), req); err != nil || out.Verdict != quorum.Won {
					continue
				}
				counts[len(engines)].Add(1)
				time.Sleep(wantedHold)
				req.Op = pipeline.Release
				s.Post(req)
			}
		})
	}
	all.Wait()
	for i := range engines {
		holds = append(holds, counts[i].Load())
	}
	return holds, counts[len(engines)].Load()
}

// strangersValue returns a value of Redsync's form.
func strangersValue() string {
	for {
		if value := "x" + token.New()[1:]; !token.Ours(value) {
			return value
		}
	}
}

func TestStrangerThatPollsGetsAQuarterOfAFairShareAtLeast(t *testing.T) {
	for engines := 1; engines <= 2; engines++ {
		inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
			s.set(func() { s.delay = 300 * time.Microsecond })
			es := []*Engine{e}
			if engines == 2 {
				other := newEngine(e.cfg, s, new(record))
				defer other.Close()
				es = append(es, other)
			}
			holds, strange := wanted(t, s, 8, es...)
			sum := strange
			for _, n := range holds {
				sum += n
			}
			fair := sum / int64(engines+1)
			t.Logf("engines %v, stranger %d, a fair share is %d", holds, strange, fair)
			require.Greater(t, strange, fair/4)
			for _, n := range holds {
				require.Greater(t, n, fair/4)
			}
		})
	}
}

func TestWithoutStrangersNoNameIsLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		s.set(func() { s.delay = 300 * time.Microsecond })
		other := newEngine(e.cfg, s, new(record))
		defer other.Close()
		wanted(t, s, 0, e, other)
		require.NotZero(t, e.spotted.Load()+other.spotted.Load(), "each looks who has it")
		for _, engine := range []*Engine{e, other} {
			shard := engine.names.shard("name")
			shard.mu.Lock()
			seen := shard.states["name"].strangers.seen
			shard.mu.Unlock()
			require.Zero(t, seen)
		}
	})
}

func TestProcessThatHadNoTermOfItsOwnDoesNotLook(t *testing.T) {
	inBubble(t, func(t *testing.T, e *Engine, s *scripted) {
		time.Sleep(time.Second) // a look would be due
		s.set(func() { s.keys["name"] = scriptedKey{token: strangersValue(), ends: time.Now().Add(time.Hour)} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.Acquire(ctx, "name", 0)
		require.ErrorIs(t, err, ErrTaken)
		require.Zero(t, e.spotted.Load())
	})
}
