package sim

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/redisfake"
	"muxlock/internal/testing/faultconn"
)

// A world is the masters, the engines and their callers, in a bubble.
type world struct {
	*audit
	s       Schedule
	masters []*redisfake.Server
	slots   []*slot
	callers []*caller

	misconfigure []func(slot int, cfg *engine.Config)
	snapshots    map[*redisfake.Server]redisfake.Snapshot // owned by the goroutine of the faults
	copied       map[*redisfake.Server]string             // the mark that came with another master's data; owned by that goroutine, too
	beside       sync.WaitGroup                           // goroutines of faults that take a while
}

// A slot is the place of an engine. After an engine crashed, the next one takes its slot.
type slot struct {
	w  *world
	id int

	mu   sync.Mutex     // guards the following
	e    *engine.Engine // nil: it crashed, or did not start yet
	on   []*link        // by master
	born int            // engines so far
}

func newWorld(s Schedule) *world {
	w := &world{audit: newAudit(), s: s, snapshots: make(map[*redisfake.Server]redisfake.Snapshot), copied: make(map[*redisfake.Server]string)}
	for i := range s.Shape.Masters {
		m := redisfake.New()
		m.Clock(0, s.Shape.Faster[i])
		w.masters = append(w.masters, m)
	}
	for i := range s.Shape.Engines {
		w.slots = append(w.slots, &slot{w: w, id: i})
	}
	return w
}

func (w *world) fasterOf(m *redisfake.Server) float64 {
	return w.s.Shape.Faster[slices.Index(w.masters, m)]
}

// config returns the configuration of the next engine in the slot. The engine's connections go over these links.
func (s *slot) config(links []*link) engine.Config {
	p := s.w.s.Shape
	cfg := engine.Config{
		MaxTTL: p.MaxTTL, TTL: p.MaxTTL, MasterTimeout: p.Timeout, Drift: p.Drift, Queue: p.Queue, WaitWhenFull: s.id%2 == 0,
		Fencing: p.Fencing[s.id], MastersAreDurable: p.Durable, Holder: s.holder(), HandOverTime: p.HandOver,
	}
	reach(&cfg, s.w.masters, func(i int) *faultconn.Link { return links[i].Link })
	return cfg
}

// reach has the engine reach masters, each over a link.
func reach(cfg *engine.Config, masters []*redisfake.Server, link func(i int) *faultconn.Link) {
	for i := range masters {
		cfg.Masters = append(cfg.Masters, address(i))
	}
	cfg.Client = rueidis.ClientOption{DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		var i int
		fmt.Sscanf(addr, "192.0.2.%d:6379", &i)
		return link(i).DialBy(ctx, func(ctx context.Context) (net.Conn, error) { return masters[i].Dial(ctx, addr, d, c) })
	}}
}

// address returns an address in a network that does not exist.
func address(master int) string { return fmt.Sprintf("192.0.2.%d:6379", master) }

// holder names the engine in its tokens.
func (s *slot) holder() string { return fmt.Sprintf("engine %d.%d", s.id, s.born) }

// open starts the next engine in the slot. It tries until one starts or ctx ends.
func (s *slot) open(ctx context.Context) {
	s.mu.Lock()
	s.born++
	s.on = nil
	for i := range s.w.masters {
		l := &link{faultconn.NewLink(), s.w.s.Shape.Delay[s.id][i]}
		l.OutliveClose(true)
		l.Delay(l.delay)
		l.DelayRequests(l.delay)
		s.on = append(s.on, l)
	}
	cfg := s.config(s.on)
	for _, wrong := range s.w.misconfigure {
		wrong(s.id, &cfg)
	}
	s.mu.Unlock()
	for ctx.Err() == nil {
		e, err := engine.New(ctx, cfg)
		if err == nil {
			s.mu.Lock()
			s.e = e
			s.mu.Unlock()
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (s *slot) engine() *engine.Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.e
}

func (s *slot) links() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on
}

// crash ends the process of an engine. Bytes already sent may arrive; nothing more comes or goes.
func (w *world) crash(f Fault) {
	s := w.slots[max(f.Engine, 0)]
	s.mu.Lock()
	e, links := s.e, s.on
	s.e = nil
	s.mu.Unlock()
	if e == nil {
		return // it is down already
	}
	for _, l := range links {
		l.BlackHole(true)
	}
	w.beside.Go(func() {
		w.close(e)
		for _, l := range links {
			l.Cut()
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience(w.s.Shape)/2)
		defer cancel()
		s.open(ctx)
	})
}

func (w *world) close(e *engine.Engine) {
	began := time.Now()
	e.Close()
	if took := time.Since(began); took > 4*w.s.Shape.Timeout+5*time.Second {
		w.fails("Close took %v", took)
	}
}

// overload has a crowd ask an engine for locks at once.
func (w *world) overload(f Fault) {
	s := w.slots[max(f.Engine, 0)]
	e := s.engine()
	if e == nil {
		return
	}
	for i := range 100 {
		c := &caller{world: w, slot: s, r: rand.New(rand.NewPCG(w.s.Seed, uint64(f.At)+uint64(i)))}
		o := c.draw()
		o.hold, o.acquire = o.hold%(5*time.Millisecond), o.think
		w.beside.Go(func() { c.call(verbs[0], o) })
	}
}

// run plays a schedule, in a bubble.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer w.end()
	if !w.open(ctx) {
		return
	}
	acts := w.s.Shape.Acts
	if w.s.Shape.Roll {
		acts++
	}
	for act := range acts {
		w.play(act)
		if len(w.wrong) > 0 {
			return
		}
	}
	w.noLines()
}

// noLines audits that nothing of a line is left, soon after the last call. A clock may have stepped back.
func (w *world) noLines() {
	for _, s := range w.slots {
		if e := s.engine(); e != nil {
			w.counts["passed on"] += int(e.Stats().PassedOn)
			w.counts["healed"] += int(e.Stats().Healed)
		}
	}
	w.ends(45*time.Second, func() string {
		for i, m := range w.masters {
			for _, key := range m.Keys() {
				if kind, _, found := strings.Cut(strings.TrimPrefix(key, "__muxlock__:"), ":"); found && strings.Contains("qwQW", kind) {
					return fmt.Sprintf("master %d has a line that nobody stands in, %s", i, key)
				}
			}
		}
		return ""
	})
}

// ends waits until nothing is left, for as long as patience.
func (w *world) ends(patience time.Duration, left func() string) {
	for end := time.Now().Add(patience); left() != ""; time.Sleep(patience / 64) {
		if time.Now().After(end) {
			w.fails("at rest %s", left())
			return
		}
	}
}

// play plays an act. The one behind the last is a roll.
func (w *world) play(act int) {
	begins := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var calls sync.WaitGroup
	w.callers = nil
	who := func(i int) *rand.Rand { return rand.New(rand.NewPCG(w.s.Seed, uint64(1_000_000*(act+1)+i))) }
	rolls, callers := act == w.s.Shape.Acts, w.s.Shape.Callers
	if rolls {
		callers = 1
	}
	for _, s := range w.slots {
		for i := range callers {
			c := &caller{world: w, slot: s, r: who(1000*s.id + i)}
			w.callers = append(w.callers, c)
			calls.Go(func() { c.run(ctx) })
		}
	}
	for i := range w.s.Shape.Strangers {
		x := &stranger{world: w, id: fmt.Sprint(act, ".", i), r: who(100_000 + i)}
		calls.Go(func() { x.run(ctx) })
	}
	if rolls {
		w.roll(ctx, &calls, who(-2))
	} else {
		for _, e := range w.s.events(act) {
			time.Sleep(time.Until(begins.Add(e.at)))
			w.count("event", e.fault.Kind)
			e.do(w, e.fault)
		}
		time.Sleep(time.Until(begins.Add(w.s.Shape.Span)))
	}
	cancel()
	w.heal()
	w.leaveBareMajority(who(-1))
	ended := make(chan struct{})
	go func() { calls.Wait(); w.beside.Wait(); close(ended) }()
	select {
	case <-ended:
		w.heal()
		w.atRest()
	case <-time.After(patience(w.s.Shape)):
		for _, c := range w.callers {
			if doing, since := c.now(); doing != "" {
				w.fails("engine %d: %s waits since %v, although a majority serves", c.slot.id, doing, time.Since(since))
			}
		}
		w.fails("calls do not end, although a majority serves")
	}
}

// patience bounds the calls that wait, once all faults are over. It is the wait after a restart, the leases
// that are held, a while to find out, and the turns of all callers of one name, if all let their leases run out
// (caller.expire).
func patience(p Shape) time.Duration {
	return 3*p.MaxTTL + 30*time.Second + time.Duration(p.Engines*p.Callers)*p.MaxTTL/4
}

// open sets the masters up and starts the engines.
func (w *world) open(ctx context.Context) bool {
	if w.s.Shape.anyFenced() {
		if err := w.setUp(ctx); err != nil {
			w.fails("SetUp: %v", err)
			return false
		}
	}
	for _, s := range w.slots {
		s.open(ctx)
	}
	return true
}

func (w *world) setUp(ctx context.Context) error {
	links := make([]*link, len(w.masters))
	for i := range links {
		links[i] = &link{Link: faultconn.NewLink()}
		defer links[i].Cut()
	}
	cfg := (&slot{w: w}).config(links)
	return admin.SetUp(ctx, cfg, admin.SetUpOptions{MastersAreNew: true})
}

// atRest audits the end of an act, when all locks are released and nothing fails any more. The engines must come to rest. No
// master may then have a key of a living engine, even one whose lease has not ended.
func (w *world) atRest() {
	time.Sleep(late + 2*w.s.Shape.Timeout) // nothing is under way any more
	w.ends(15*time.Second, w.restless)
	living := make(map[string]bool)
	for _, s := range w.slots {
		living[s.holder()] = true
	}
	for i, m := range w.masters {
		for _, key := range m.Keys() {
			if _, holder, found := strings.Cut(m.Value(key), "engine "); found && living["engine "+holder] && (!strings.HasPrefix(key, "__") || strings.HasPrefix(key, "__muxlock__:slot:")) && !w.rolledBack(i) && !w.outlives(i, key) {
				w.fails("master %d has an orphan, %s of engine %s", i, key, holder)
			}
		}
	}
}

// restless returns what an engine still does; "": all engines are at rest.
func (w *world) restless() string {
	for _, s := range w.slots {
		e := s.engine()
		if e == nil {
			return fmt.Sprintf("engine %d did not start again after it crashed", s.id)
		}
		stats := e.Stats()
		if stats.Waiting > 0 || stats.Queued > 0 || stats.Held > 0 {
			return fmt.Sprintf("engine %d has %d waiting, %d queued, %d held", s.id, stats.Waiting, stats.Queued, stats.Held)
		}
		for _, m := range stats.Masters {
			if !m.Up || m.PendingReleases > 0 || m.InFlight > 0 || m.Backlog > 0 {
				return fmt.Sprintf("engine %d has %+v", s.id, m)
			}
		}
	}
	return ""
}

// rolledBack reports whether a master may have keys that had been released.
func (w *world) rolledBack(master int) bool {
	return slices.ContainsFunc(w.s.Faults, func(f Fault) bool {
		return slices.Contains([]string{"rollback", "replica", "copy"}, f.Kind) && (f.Master == master || f.Master < 0)
	})
}

// outlives reports whether a key is there only because the master's clock is slow, or stepped back. For the engine the lease
// is over, so the engine has dropped the pending release.
func (w *world) outlives(master int, key string) bool {
	left, _ := w.masters[master].Do("PTTL", key).(int64)
	return time.Duration(left)*time.Millisecond <= w.steppedBack(master)+time.Duration(w.s.Shape.Drift*float64(w.s.Shape.MaxTTL))
}

// steppedBack returns how far a master's clock stepped back: by so much longer a key stays there.
func (w *world) steppedBack(master int) (back time.Duration) {
	for _, f := range w.s.Faults {
		if f.Kind == "clock back" && (f.Master == master || f.Master < 0) {
			back += f.For
		}
	}
	return back
}

// end closes everything. The bubble finds the goroutines that are left.
func (w *world) end() {
	for _, s := range w.slots {
		if e := s.engine(); e != nil {
			w.close(e)
		}
		for _, l := range s.links() {
			l.Cut()
		}
	}
	for _, m := range w.masters {
		m.Close()
	}
}
