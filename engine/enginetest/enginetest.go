package enginetest

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/internal/inside"
	"muxlock/internal/limits"
	"muxlock/internal/quorum"
	"muxlock/internal/redisfake"
)

// Engine is a real engine on masters in this process, which can be made to fail. It is safe for concurrent
// use.
type Engine struct {
	*engine.Engine
	cfg     engine.Config
	masters []*redisfake.Server // fixed

	mu      sync.Mutex       // guards the following
	engines []*engine.Engine // on these masters
	refused map[string]bool  // keys that nobody has
	denied  map[string]bool  // keys
}

// New starts masters and an engine on them; t.Cleanup closes both. cfg is as for engine.New, but for Masters
// and Client: there are as many masters as cfg.Masters has, five if it has none, and neither addresses nor
// passwords matter. Errors name master i as 192.0.2.i:6379. The masters have been up for long, have no data
// and, with cfg.Fencing, are set up. New fails t if engine.New fails.
//
// In a testing/synctest bubble call New with the bubble's t. All leases and timeouts are in the bubble's time
// then.
func New(t testing.TB, cfg engine.Config) *Engine {
	t.Helper()
	n := cmp.Or(len(cfg.Masters), 5)
	e := &Engine{refused: make(map[string]bool), denied: make(map[string]bool)}
	byAddress := make(map[string]*redisfake.Server)
	cfg.Masters = nil
	for i := range n {
		master, address := redisfake.New(), fmt.Sprintf("192.0.2.%d:6379", i) // of a network that does not exist; a name would be looked up
		t.Cleanup(master.Close)
		cfg.Masters, byAddress[address] = append(cfg.Masters, address), master
		e.masters = append(e.masters, master)
	}
	cfg.Client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		return byAddress[address].Dial(ctx, address, d, c)
	}}
	e.cfg = cfg
	if cfg.Fencing {
		if err := admin.SetUp(t.Context(), cfg, admin.SetUpOptions{MastersAreNew: true}); err != nil {
			t.Fatal("enginetest:", err)
		}
	}
	e.Engine = e.Open(t, cfg)
	return e
}

// Open returns another engine on the same masters, which plays another process; t.Cleanup closes it. cfg is
// as for New, but the masters stay as New has set them up: with Fencing they have New's MaxTTL. Faults by name
// apply to names with New's Config.Prefix, and to all that has the name: a lock, readers, permits.
func (e *Engine) Open(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	cfg.Masters, cfg.Client = e.cfg.Masters, e.cfg.Client
	other, err := engine.New(t.Context(), cfg)
	if err != nil {
		t.Fatal("enginetest:", err)
	}
	t.Cleanup(func() { other.Close() })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.engines = append(e.engines, other)
	return other
}

// Down makes a master, counted from 0, unreachable. It keeps its data: leases run out as ever. When Down
// returns the engines have noticed: Ready does not count the master.
func (e *Engine) Down(master int) { e.cut(master, e.masters[master].Down) }

// cut runs end, which ends a master's connections, and returns when the engines have set the master aside.
func (e *Engine) cut(master int, end func()) {
	e.mu.Lock()
	engines := e.engines
	e.mu.Unlock()
	times := make([]uint64, len(engines))
	for i, other := range engines {
		times[i] = other.Stats().Masters[master].SetAside
	}
	end()
	for i, other := range engines {
		pause := time.Microsecond // in a bubble: until all else waits; an idle engine notices within 1.5 s
		for m := other.Stats().Masters[master]; m.Up && m.SetAside == times[i]; m = other.Stats().Masters[master] {
			time.Sleep(pause)
			pause = min(2*pause, time.Millisecond)
		}
	}
}

// Up ends Down. The engine dials again after a moment, of 1.5 s at most. Ready waits for that only if the other
// masters are no quorum.
func (e *Engine) Up(master int) { e.masters[master].Up() }

// Slow makes a master execute commands at once and answer them d later. A master slower than
// Config.MasterTimeout is hung. 0 ends it.
func (e *Engine) Slow(master int, d time.Duration) { e.masters[master].Slow(d) }

// Restart restarts a master, up or down, without its data. As in production, the engine asks it for no new
// locks until all leases that it may have forgotten have run out: MaxTTL*(1+Drift) + 1s + 2ms, in a bubble no
// time at all. When Restart returns the engines have noticed. Ready waits for its vote only if the other masters
// are no quorum, AllVote in any case.
func (e *Engine) Restart(master int) {
	e.cut(master, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.masters[master].Restart()
		for key := range e.refused {
			e.masters[master].Set(key, nobody)
		}
	})
}

// AllVote blocks until every master votes for every open engine: after a Restart as long as that says, while one is
// down until Up. A lock that is kept alive has the master again within a second (HeldOn). Error: ctx's, once it ends.
func (e *Engine) AllVote(ctx context.Context) error {
	e.mu.Lock()
	engines := e.engines
	e.mu.Unlock()
	waits := func(m engine.MasterStats) bool { return m.Cause != nil }
	for _, other := range engines {
		for ctx.Err() == nil && other.Ready(ctx) == nil && slices.ContainsFunc(other.Stats().Masters, waits) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return ctx.Err()
}

// keys returns the keys of a name: of its lock and readers, and of its permits.
func (e *Engine) keys(name string) (keys []string) {
	for slot := -1; slot < limits.Permits; slot++ {
		keys = append(keys, inside.SlotKey(slot, e.cfg.Prefix+name))
	}
	return keys
}

// NoQuorum makes so many masters unreachable that no quorum is left. Calls that need one get engine.ErrNoQuorum.
// Locks that are held live until their validity ends.
func (e *Engine) NoQuorum() {
	for i := range quorum.Size(len(e.masters)) {
		e.Down(i)
	}
}

// nobody is the value of a name that is refused.
const nobody = "nobody"

// Refuse gives a name to nobody: an acquire finds it taken until Heal or Lose. A holder loses it, as with Lose.
func (e *Engine) Refuse(name string) {
	e.lose(name, func(m *redisfake.Server, key string) {
		e.refused[key] = true
		m.Set(key, nobody)
	})
}

// Deny makes the masters' ACL forbid a name until Heal: an acquire gets engine.ErrDenied.
func (e *Engine) Deny(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, key := range e.keys(name) {
		e.denied[key] = true
		for _, m := range e.masters {
			m.Deny(key, true)
		}
	}
}

// Lose deletes a lock at all masters, whoever holds it, also at masters that are down. In production the engine
// would notice at the next renewal or, if the lock is not kept alive, the next Extend. Here it has noticed when
// Lose returns, if a majority of the masters is up and allows the name: Done is closed, and Err matches
// engine.ErrLost. Only an adopted lock notices later, at its next Extend.
func (e *Engine) Lose(name string) {
	e.lose(name, func(m *redisfake.Server, key string) {
		delete(e.refused, key)
		m.Delete(key)
	})
}

// lose takes each key of a name from its holders, with take, and makes these holders ask the masters for it. Later
// holders are left alone. A first Extend may share the outcome of a call that was answered before.
func (e *Engine) lose(name string, take func(m *redisfake.Server, key string)) {
	var holders []inside.Lock
	e.mu.Lock()
	for _, key := range e.keys(name) {
		for _, other := range e.engines {
			holders = append(holders, inside.Of(other).Holders(key)...)
		}
		for _, m := range e.masters {
			take(m, key)
		}
	}
	e.mu.Unlock()
	for _, lock := range holders {
		for try := 0; try < 3 && lock.Valid(); try++ {
			_ = lock.Extend(context.Background(), 0) // it asks, and that is all
		}
	}
}

// Heal ends all faults: every master is up and fast, and no name is refused or denied. The engine dials again
// as after Up.
func (e *Engine) Heal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.masters {
		for key := range e.refused {
			if m.Value(key) == nobody { // a forced release ends a refusal, too
				m.Delete(key)
			}
		}
		for key := range e.denied {
			m.Deny(key, false)
		}
		m.Slow(0)
		m.Up()
	}
	clear(e.refused)
	clear(e.denied)
}
