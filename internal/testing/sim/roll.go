package sim

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"muxlock/engine"
)

// A roll is an act in which some callers keep a lock each for as long as it lasts: keepers. The others call as in any act, so
// they wait for the kept locks, too. Each master fails once, one after another: it is restarted, or away for longer than a ttl.
// A fault begins when all masters vote for every engine and have every kept lock. A hasty one does not wait for that
// unless it is the first: after the act before, a master may not vote yet.

// drawRoll draws the faults of a roll: one of each master and, in some rolls, one of an engine.
func (p Shape) drawRoll(r *rand.Rand) (all []Fault) {
	draw := func(of ...rolls) Fault {
		kinds := slices.DeleteFunc(p.kinds(), func(k kind) bool { return !slices.Contains(of, k.rolls) })
		k := kinds[r.IntN(len(kinds))]
		f := Fault{Kind: k.name, Act: p.Acts, For: time.Duration(r.Int64N(int64(p.MaxTTL))), Engine: r.IntN(p.Engines), Hasty: r.IntN(10) == 0}
		if k.rolls == outage {
			f.For += p.MaxTTL
		}
		if k.rolls != leaving && r.IntN(2) == 0 {
			f.Engine = -1
		}
		return f
	}
	for _, m := range r.Perm(p.Masters) {
		f := draw(outage, restart)
		f.Master, f.Other = m, (m+1+r.IntN(p.Masters-1))%p.Masters
		all = append(all, f)
	}
	if at := r.IntN(2 * p.Masters); at < p.Masters {
		all = slices.Insert(all, at, draw(leaving))
	}
	return all
}

// keepings are the verbs of keepers.
var keepings = []verb{
	{"Keep", 2, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, e.Acquire, c.keep) }},
	{"KeepShared", 1, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, e.AcquireShared, c.keep) }},
	{"KeepPermit", 1, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, permit(e.AcquirePermit), c.keep) }},
	{"KeepSet", 1, (*caller).keepSet},
}

// keep keeps a lock until the roll is over.
func (c *caller) keep(lock *engine.Lock, h *hold) error {
	return c.keepAll(lock, func() { c.rely(lock, h, time.Hour) })
}

func (c *caller) keepSet(o op, e *engine.Engine) error {
	set, err := e.AcquireAll(context.Background(), []string{o.name, "beside " + o.name}, o.ttl)
	if err != nil {
		return err
	}
	err = c.keepAll(set, func() { c.relyOnAll(set.Locks(), time.Hour) })
	return cmp.Or(err, c.prompt("Release of a set", func() error { return set.Release(context.Background()) }))
}

// A kept is a lock or a set that is kept.
type kept interface {
	KeepAlive(time.Duration) error
	Err() error
	HeldOn() (masters, total int)
}

// keepAll keeps a lock or a set while it is relied on. It audits the loss.
func (c *caller) keepAll(lock kept, rely func()) error {
	if err := lock.KeepAlive(0); err != nil {
		return nil // it was lost at once
	}
	c.keeps(lock)
	rely()
	c.keeps(nil)
	if err := lock.Err(); err != nil {
		doing, _ := c.now()
		c.count("lost", strings.Fields(doing)[0])
		if !c.mayLose(c.slot.id, len(c.masters)) {
			c.fails("engine %d: %s: lost, although neither the engine nor a majority was away: %v", c.slot.id, doing, err)
		}
	}
	return nil
}

func (c *caller) keeps(lock kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = lock
}

// roll plays a roll. Its keepers are among calls.
func (w *world) roll(ctx context.Context, calls *sync.WaitGroup, r *rand.Rand) {
	var keepers []*caller
	bag := bagOf(keepings)
	for i := range min(w.s.Shape.Names, w.s.Shape.Engines, 3) {
		k := &caller{world: w, slot: w.slots[i], enough: ctx.Done()}
		v, o := bag[r.IntN(len(bag))], op{name: fmt.Sprint("n", i), ttl: w.s.Shape.MaxTTL/2 + time.Duration(r.Int64N(int64(w.s.Shape.MaxTTL/2)))}
		keepers = append(keepers, k)
		calls.Go(func() {
			for ctx.Err() == nil {
				k.call(v, o)
				time.Sleep(10 * time.Millisecond) // its engine may be away
			}
		})
	}
	w.callers = append(w.callers, keepers...)
	settled := false
	for _, f := range w.s.Faults {
		if f.Act == w.s.Shape.Acts {
			if !(settled && f.Hasty) && !w.settles(keepers) {
				return
			}
			settled = true
			w.rollOver(f)
		}
	}
	w.settles(keepers)
}

// rollOver plays a fault of a roll.
func (w *world) rollOver(f Fault) {
	k := f.kind()
	w.isAway(f)
	w.count("event", f.Kind)
	k.begin(w, f)
	time.Sleep(f.For)
	if k.end != nil {
		k.end(w, f)
	}
	if k.rolls == restart { // an engine may notice it by its next renewal only
		time.Sleep(w.s.Shape.MaxTTL / 2)
	}
}

// settles waits until all masters vote for every engine and have all kept locks, and reports whether they do. Once they vote,
// they must soon have the locks: where somebody else's key was, it may stay for a ttl, by a clock that may have stepped back.
func (w *world) settles(keepers []*caller) bool {
	soon := 2 * w.s.Shape.MaxTTL
	for i := range w.masters {
		soon = max(soon, 2*w.s.Shape.MaxTTL+w.steppedBack(i))
	}
	var since time.Time // all masters vote, and each keeper has a lock
	for began := time.Now(); time.Since(began) < patience(w.s.Shape); time.Sleep(20 * time.Millisecond) {
		ready, lacks := w.kept(keepers)
		switch {
		case !ready:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case lacks == 0:
			w.nobodyIsAway(time.Since(since))
			return true
		case time.Since(since) > soon:
			w.fails("kept locks lack masters, %d together, although all vote since %v", lacks, time.Since(since))
			return false
		}
	}
	w.fails("a master does not vote, or somebody cannot have the lock that he is to keep")
	return false
}

// kept reports whether all masters vote for every engine and every keeper has a lock, and how many masters the locks lack.
func (w *world) kept(keepers []*caller) (ready bool, lacks int) {
	for _, k := range keepers {
		k.mu.Lock()
		lock := k.kept
		k.mu.Unlock()
		if lock == nil {
			return false, 0
		}
		n, of := lock.HeldOn()
		lacks += of - n
	}
	for _, s := range w.slots {
		e := s.engine()
		if e == nil || slices.ContainsFunc(e.Stats().Masters, func(m engine.MasterStats) bool { return m.Cause != nil }) {
			return false, 0
		}
	}
	return true, lacks
}
