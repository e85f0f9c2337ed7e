package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"muxlock/engine"
	"muxlock/engine/admin"
)

// A verb is one way to use a lock. A new one is an entry of verbs.
type verb struct {
	name   string
	weight int
	do     func(c *caller, o op, e *engine.Engine) error
}

var verbs = []verb{
	{"Acquire", 4, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, e.Acquire, c.hold(o)) }},
	{"TryAcquire", 4, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, e.TryAcquire, c.hold(o)) }},
	{"Do", 3, func(c *caller, o op, e *engine.Engine) error { return c.do(o, e.Do) }},
	{"TryDo", 2, func(c *caller, o op, e *engine.Engine) error { return c.do(o, e.TryDo) }},
	{"Many", 2, (*caller).many},
	{"AcquireAll", 2, func(c *caller, o op, e *engine.Engine) error { return c.all(o, e.AcquireAll) }},
	{"TryAcquireAll", 1, func(c *caller, o op, e *engine.Engine) error { return c.all(o, e.TryAcquireAll) }},
	{"DoAll", 1, (*caller).doAll},
	{"AcquireShared", 4, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, e.AcquireShared, c.hold(o)) }},
	{"TryAcquireShared", 2, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, e.TryAcquireShared, c.hold(o)) }},
	{"DoShared", 2, func(c *caller, o op, e *engine.Engine) error { return c.do(o, e.DoShared) }},
	{"ExtendShared", 2, func(c *caller, o op, e *engine.Engine) error { return c.extend(o, e.AcquireShared) }},
	{"AcquirePermit", 4, func(c *caller, o op, e *engine.Engine) error { return c.cycle(o, permit(e.AcquirePermit), c.hold(o)) }},
	{"TryAcquirePermit", 2, func(c *caller, o op, e *engine.Engine) error {
		return c.cycle(o, permit(e.TryAcquirePermit), c.hold(o))
	}},
	{"DoPermit", 2, func(c *caller, o op, e *engine.Engine) error { return c.do(o, permitDo(e)) }},
	{"ExtendPermit", 2, func(c *caller, o op, e *engine.Engine) error { return c.extend(o, permit(e.AcquirePermit)) }},
	{"Extend", 3, func(c *caller, o op, e *engine.Engine) error { return c.extend(o, e.Acquire) }},
	{"KeepAlive", 2, (*caller).keepAlive},
	{"expire", 1, (*caller).expire},
	{"Adopt", 2, (*caller).adopt},
	{"ForceRelease", 1, (*caller).force},
}

// An op is the arguments of one call. It is drawn before the call, so the outcome of a call does not
// change what the next call asks for.
type op struct {
	name        string
	names       []string // of a set; name is among them
	ttl         time.Duration
	hold, think time.Duration
	acquire     time.Duration // until its ctx ends; 0: it does not
	later       time.Duration // likewise, for calls after the acquire
	other       int           // an engine
}

// A caller is a goroutine that uses an engine, call after call.
type caller struct {
	*world
	slot   *slot
	r      *rand.Rand
	enough <-chan struct{} // closed when a keeper is to give its lock up; nil: of nobody else

	mu    sync.Mutex // guards the following
	doing string     // "": nothing
	since time.Time
	kept  kept // a keeper's lock; nil: it has none
}

// names are all names. The locks of names with r are revealed: they are not handed over, and their tokens
// tell holders apart.
func (w *world) names() (all []string) {
	for i := range w.s.Shape.Names {
		all = append(all, fmt.Sprint("n", i), fmt.Sprint("r", i))
	}
	return all
}

// permits is how many permits each name has.
const permits = 3

type acquire func(ctx context.Context, name string, ttl time.Duration) (*engine.Lock, error)

// permit is an acquire of a permit.
func permit(how func(context.Context, string, int, time.Duration) (*engine.Lock, error)) acquire {
	return func(ctx context.Context, name string, ttl time.Duration) (*engine.Lock, error) {
		return how(ctx, name, permits, ttl)
	}
}

func permitDo(e *engine.Engine) func(context.Context, string, time.Duration, func(context.Context) error) error {
	return func(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) error {
		return e.DoPermit(ctx, name, permits, ttl, fn)
	}
}

func (c *caller) draw() op {
	p := c.s.Shape
	ms := func(most int) time.Duration { return time.Duration(1+c.r.IntN(1000*most)) * time.Microsecond }
	ctx := func() time.Duration {
		switch c.r.IntN(4) {
		case 0:
			return ms(5) // within the first round trip
		case 1:
			return ms(300)
		case 2:
			return ms(20_000)
		}
		return 0
	}
	names := c.names()
	c.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	o := op{name: names[0], names: names[:1+c.r.IntN(min(len(names), 4))], ttl: p.MaxTTL, hold: ms(300), think: ms(800), acquire: ctx(), later: ctx(), other: c.r.IntN(p.Engines)}
	switch c.r.IntN(5) {
	case 0:
		o.hold = ms(3)
	case 1:
		o.ttl = 2*p.Timeout + ms(1500)
	case 2: // the holder relies on the lock as long as it is valid
		o.ttl, o.hold = 2*p.Timeout+ms(300), time.Minute
	}
	return o
}

// bagOf has each verb as often as it weighs.
func bagOf(verbs []verb) (bag []verb) {
	for _, v := range verbs {
		for range v.weight {
			bag = append(bag, v)
		}
	}
	return bag
}

// run makes calls until ctx ends.
func (c *caller) run(ctx context.Context) {
	bag := bagOf(verbs)
	for ctx.Err() == nil {
		o, v := c.draw(), bag[c.r.IntN(len(bag))]
		time.Sleep(o.think)
		c.call(v, o)
	}
}

func (c *caller) call(v verb, o op) {
	e := c.slot.engine()
	if e == nil {
		return
	}
	if strings.Contains(v.name, "Shared") { // a reader's token is not revealed
		o.name = strings.Replace(o.name, "r", "n", 1)
	}
	c.count("call", v.name)
	c.note(v.name + " of " + o.name)
	err := v.do(c, o, e)
	c.note("")
	if err != nil && !expected(err) {
		c.fails("engine %d: %s of %s: %v", c.slot.id, v.name, o.name, err)
	}
}

// expected reports whether faults may lead to an error.
func expected(err error) bool {
	faults := []error{engine.ErrNotAcquired, engine.ErrLost, engine.ErrNotHeld, engine.ErrNoQuorum, engine.ErrOverloaded, engine.ErrClosed, context.Canceled, context.DeadlineExceeded}
	return !errors.Is(err, engine.ErrInvalid) && slices.ContainsFunc(faults, func(fault error) bool { return errors.Is(err, fault) })
}

func (c *caller) note(doing string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doing, c.since = doing, time.Now()
}

func (c *caller) now() (doing string, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doing, c.since
}

// within returns a ctx that ends after d. With 0 it never ends. Below a millisecond it has ended already.
func within(d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), d.Truncate(time.Millisecond))
}

// relies begins a hold.
func (c *caller) relies(lock *engine.Lock) *hold {
	doing, _ := c.now()
	c.count("won", strings.Fields(doing)[0])
	h := &hold{name: lock.Name(), who: c.slot.holder(), from: time.Now(), fence: lock.Fence(), reads: strings.Contains(doing, "Shared")}
	if strings.HasPrefix(h.name, "r") {
		h.token = lock.Reveal()
	}
	if h.slot = lock.Slot(); h.slot >= 0 {
		h.name, h.limit = "permits of "+h.name, permits
	}
	return h
}

// rely relies on a lock for d, or until the lock is lost.
func (c *caller) rely(lock *engine.Lock, h *hold, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.enough:
	case <-lock.Done():
	}
	h.to = time.Now()
	if until := lock.Until(); until.Before(h.to) {
		h.to = until
	}
}

// release ends a hold.
func (c *caller) release(o op, lock *engine.Lock, h *hold) error {
	c.held(*h)
	ctx, cancel := within(o.later)
	defer cancel()
	return c.prompt("Release", func() error { return lock.Release(ctx) })
}

// prompt makes a call that waits for nobody.
func (c *caller) prompt(what string, call func() error) error {
	began := time.Now()
	err := call()
	took := time.Since(began)
	c.audit.mu.Lock()
	c.slowest = max(c.slowest, took*1000/c.s.Shape.Timeout)
	c.audit.mu.Unlock()
	if took > 4*c.s.Shape.Timeout {
		c.fails("engine %d: %s took %v", c.slot.id, what, took)
	}
	return err
}

// cycle acquires a lock, uses it and releases it.
func (c *caller) cycle(o op, how func(context.Context, string, time.Duration) (*engine.Lock, error), use func(*engine.Lock, *hold) error) error {
	ctx, cancel := within(o.acquire)
	lock, err := how(ctx, o.name, o.ttl)
	cancel()
	if err != nil {
		return err
	}
	h := c.relies(lock)
	if err := use(lock, h); err != nil && !expected(err) {
		return err
	}
	return c.release(o, lock, h)
}

// hold just relies on the lock.
func (c *caller) hold(o op) func(*engine.Lock, *hold) error {
	return func(lock *engine.Lock, h *hold) error { c.rely(lock, h, o.hold); return nil }
}

func (c *caller) do(o op, how func(context.Context, string, time.Duration, func(context.Context) error) error) error {
	ctx, cancel := within(o.acquire)
	defer cancel()
	return how(ctx, o.name, o.ttl, func(ctx context.Context) error {
		lock, _ := engine.LockFrom(ctx)
		h := c.relies(lock)
		timer := time.NewTimer(min(o.hold, time.Second)) // it is renewed
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		h.to = time.Now()
		c.held(*h)
		return context.Cause(ctx)
	})
}

// many acquires all names at once, uses the locks that it gets, and releases them at once.
func (c *caller) many(o op, e *engine.Engine) error {
	ctx, cancel := within(o.acquire)
	results := e.AcquireMany(ctx, c.names(), o.ttl)
	cancel()
	var locks []*engine.Lock
	for _, r := range results {
		if r.Lock != nil {
			locks = append(locks, r.Lock)
		} else if !expected(r.Err) {
			return r.Err
		}
	}
	c.relyOnAll(locks, o.hold)
	ctx, cancel = within(o.later)
	defer cancel()
	return c.prompt("ReleaseMany", func() error {
		for _, err := range e.ReleaseMany(ctx, locks) {
			if err != nil && !expected(err) {
				return err
			}
		}
		return nil
	})
}

// relyOnAll is a hold of each lock.
func (c *caller) relyOnAll(locks []*engine.Lock, d time.Duration) {
	var all sync.WaitGroup
	for _, lock := range locks {
		h := c.relies(lock)
		all.Go(func() { c.rely(lock, h, d); c.held(*h) })
	}
	all.Wait()
}

// all acquires a set, extends it, uses it and releases it.
func (c *caller) all(o op, how func(context.Context, []string, time.Duration) (*engine.Set, error)) error {
	ctx, cancel := within(o.acquire)
	set, err := how(ctx, o.names, o.ttl)
	cancel()
	if err != nil {
		return err
	}
	if o.other%2 == 0 {
		ctx, cancel := within(o.later)
		err := c.prompt("Extend of a set", func() error { return set.Extend(ctx, o.ttl) })
		if cancel(); err != nil && !expected(err) {
			return err
		}
	}
	c.relyOnAll(set.Locks(), o.hold)
	ctx, cancel = within(o.later)
	defer cancel()
	return c.prompt("Release of a set", func() error { return set.Release(ctx) })
}

func (c *caller) doAll(o op, e *engine.Engine) error {
	ctx, cancel := within(o.acquire)
	defer cancel()
	return e.DoAll(ctx, o.names, o.ttl, func(ctx context.Context, set *engine.Set) error {
		c.relyOnAll(set.Locks(), min(o.hold, time.Second)) // they are renewed
		return context.Cause(ctx)
	})
}

func (c *caller) extend(o op, how func(context.Context, string, time.Duration) (*engine.Lock, error)) error {
	return c.cycle(o, how, func(lock *engine.Lock, h *hold) error {
		for range 2 {
			c.rely(lock, h, min(o.hold/2, o.ttl-o.think/8))
			ctx, cancel := within(o.later)
			err := c.prompt("Extend", func() error { return lock.Extend(ctx, o.ttl) })
			if cancel(); err != nil && !expected(err) {
				return err
			}
		}
		c.rely(lock, h, o.hold/2)
		return nil
	})
}

func (c *caller) keepAlive(o op, e *engine.Engine) error {
	o.ttl, o.hold = min(o.ttl, 2*c.s.Shape.Timeout+o.think), min(o.hold, time.Second)
	return c.cycle(o, e.Acquire, func(lock *engine.Lock, h *hold) error {
		err := lock.KeepAlive(o.hold * 4)
		c.rely(lock, h, o.hold*8)
		return err
	})
}

// expire lets a lease run out.
func (c *caller) expire(o op, e *engine.Engine) error {
	o.ttl = 2*c.s.Shape.Timeout + o.think
	return c.cycle(o, e.Acquire, func(lock *engine.Lock, h *hold) error {
		c.rely(lock, h, time.Hour)
		time.Sleep(c.s.Shape.MaxTTL / 4) // a slow master keeps the lease longer, by this much at most
		return nil
	})
}

// adopt has another engine adopt the lock of this one, and release it.
func (c *caller) adopt(o op, e *engine.Engine) error {
	o.name = strings.Replace(o.name, "n", "r", 1)
	return c.cycle(o, e.TryAcquire, func(lock *engine.Lock, h *hold) error {
		c.rely(lock, h, min(o.hold, o.think)/2)
		other := c.slots[o.other].engine()
		if other == nil {
			return nil
		}
		ctx, cancel := within(o.later)
		defer cancel()
		var adopted *engine.Lock
		err := c.prompt("Adopt", func() (err error) {
			adopted, err = other.Adopt(ctx, o.name, h.token, o.ttl)
			return err
		})
		if err != nil {
			return err
		}
		next := &hold{name: o.name, who: c.slots[o.other].holder() + ", who adopted it", token: h.token, from: time.Now()}
		c.rely(adopted, next, o.hold)
		return c.release(o, adopted, next)
	})
}

// force releases by force what somebody holds.
func (c *caller) force(o op, e *engine.Engine) error {
	o.name = strings.Replace(o.name, "n", "r", 1)
	ctx, cancel := within(o.later)
	defer cancel()
	found, err := admin.Inspect(ctx, e, o.name)
	if err != nil || !found.Held {
		return err
	}
	var hashes []string
	for _, m := range found.Masters {
		hashes = append(hashes, m.Value)
	}
	c.releasedByForce(hashes)
	return c.prompt("ForceRelease", func() error { _, err := admin.ForceRelease(ctx, e, found); return err })
}
