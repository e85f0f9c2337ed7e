package rolling

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// kept is the name of the lock that is kept, and that others want.
const kept = "kept"

// A setting is who takes part in a roll, and what happens to each master.
type setting struct {
	holder              string // "lock", "Lead", "exec", "killed"
	masters             int
	waits, comes, tries int // processes
	fenced, stopped     bool
	rolls               int // 0: as many as rolls
}

func (s setting) String() string {
	words := []string{s.holder, fmt.Sprint(s.masters, " masters"), fmt.Sprint(s.waits, " waiting")}
	switch {
	case s.tries > 0:
		words[2] = fmt.Sprint(s.tries, " trying")
	case s.comes > 0:
		words[2] = fmt.Sprint(s.comes, " joining and leaving")
	}
	if s.fenced {
		words = append(words, "fenced")
	}
	return strings.Join(append(words, map[bool]string{false: "restarts", true: "outages"}[s.stopped]), ", ")
}

// A roll is the masters of a setting, and who wants a lock of them.
type roll struct {
	t       *testing.T
	s       setting
	masters []*redisserver.Server
	audit   *audit
}

func newRoll(t *testing.T, s setting) *roll {
	r := &roll{t: t, s: s, masters: redistest.Masters(t, s.masters), audit: new(audit)}
	if s.fenced {
		cfg := r.config()
		cfg.MasterTimeout = ttl / 2 // others start servers meanwhile
		r.until("the set is up", func() bool {
			err := admin.SetUp(t.Context(), cfg, admin.SetUpOptions{MastersAreNew: true})
			if err != nil {
				t.Log(err)
			}
			return err == nil
		})
	}
	return r
}

func (r *roll) config() engine.Config {
	return engine.Config{Masters: redistest.Addrs(r.masters), MaxTTL: ttl, TTL: ttl, Fencing: r.s.fenced}
}

// company starts the processes beside the holder.
func (r *roll) company() (waits []*process) {
	for range r.s.waits {
		waits = append(waits, r.start("waits", ""))
	}
	for range r.s.comes {
		r.start("comes", "")
	}
	for range r.s.tries {
		r.start("tries", "")
	}
	return waits
}

// lose takes a master away, and returns when it is there again.
func (r *roll) lose(m int) {
	if !r.s.stopped {
		redistest.Down(r.t, r.masters[m])()
		return
	}
	require.NoError(r.t, r.masters[m].Pause())
	time.Sleep(outage) // this is the fault
	require.NoError(r.t, r.masters[m].Resume())
}

// until waits until it is so.
func (r *roll) until(what string, so func() bool) {
	r.t.Helper()
	for begin := time.Now(); !so(); time.Sleep(pollEvery) {
		require.Less(r.t, time.Since(begin), limit, what)
	}
}

// A keeper is an engine of this process, and a lock that it keeps alive: what its masters are seen to do is seen with it.
type keeper struct {
	e     *engine.Engine
	lock  atomic.Pointer[engine.Lock]
	lost  atomic.Int32
	done  sync.WaitGroup
	leave context.CancelFunc
}

// keep keeps a lock, as its leader or not, and returns once all masters have it. Its reports go to say.
func (r *roll) keep(name string, leads bool, say func(report)) *keeper {
	e, err := open(r.t.Context(), r.config())
	require.NoError(r.t, err)
	k := &keeper{e: e}
	var ctx context.Context
	ctx, k.leave = context.WithCancel(r.t.Context())
	r.t.Cleanup(func() {
		k.end()
		require.NoError(r.t, e.Close())
	})
	term := func(held context.Context, lock *engine.Lock) error {
		k.lock.Store(lock)
		reports(held, lock, say)
		if ctx.Err() == nil {
			k.lost.Add(1)
			progress(r.s.String(), "lost: %v", lock.Err())
		}
		return context.Cause(held)
	}
	k.done.Go(func() {
		for ctx.Err() == nil {
			if leads {
				_ = e.Lead(ctx, name, 0, term)
				continue
			}
			lock, err := e.Acquire(ctx, name, 0)
			if err != nil {
				continue
			}
			_ = lock.KeepAlive(0)
			_ = term(ctx, lock)
			_ = lock.Release(context.Background())
		}
	})
	r.until("all masters have the lock", k.everywhere)
	return k
}

// end releases the lock.
func (k *keeper) end() {
	k.leave()
	k.done.Wait()
}

// votes reports whether the keeper sees a master vote.
func (k *keeper) votes(m int) bool { return k.e.Stats().Masters[m].Cause == nil }

// everywhere reports whether all masters vote and have the lock.
func (k *keeper) everywhere() bool {
	lock := k.lock.Load()
	if lock == nil || !lock.Valid() {
		return false
	}
	on, of := lock.HeldOn()
	s := k.e.Stats()
	return on == of && s.Eroded == 0 && !slices.ContainsFunc(s.Masters, func(m engine.MasterStats) bool { return m.Cause != nil })
}
