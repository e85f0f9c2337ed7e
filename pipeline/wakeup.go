package pipeline

import (
	"context"
	"maps"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/redlock"
)

// Waking the goroutines that wait for a name that others hold.
//
// The naive way is to ask again every so often: too often for the masters, too seldom for
// the caller. Redis can notify instead. A connection with client tracking that has read a
// key gets a push when the key next changes: once, so that the key must be read again for
// the change after that. So each master gets a second connection and a tracker (tracker.go)
// that reads the awaited names, with PTTL and nothing else. PTTL arms the tracking of a key,
// present or absent, returns how long the key has to live, and does not fetch the token.
//
// A name that somebody awaits has a subscription, with an observation per master: what the
// master last reported of the name. Every change of an observation settles the subscription:
// a quorum of observations that may be free wakes its waiters. A push counts as free at once.
// Soon after, the name is read again, which corrects that if the key is still there. So a
// waiter wakes a round trip sooner after a release than by reading first (BenchmarkAwait:
// 150 us, not 255), and needlessly after an extend.
//
// Redis notifies of an expired key only when it happens to find it, which takes from
// milliseconds to seconds. Therefore the alarm: the moment from which, by the PTTLs, the
// name is free on a quorum. Where fewer than a quorum would push (tracking refused,
// connection lost), the waiter polls as it would without all this.
//
// All of it is a hint. Nothing here grants or votes. A waiter that is woken asks the masters
// like any other caller, and no rule of the lock rests on when it does.

// A wakeups has the subscriptions of a pipeline. One mutex guards it: an event is a few
// loads per master.
type wakeups struct {
	p        *Pipeline
	trackers []*tracker // one per master; fixed

	mu    sync.Mutex // guards the following, and the fields of a tracker that name it
	names map[string]*subscription
	room  int         // names that the maps have grown to
	ends  []time.Time // scratch of settleLocked
}

// roomFrom is the number of names from which on the maps are shrunk.
const roomFrom = 1024

// A subscription is a name that somebody awaits. It ends with its last waiter.
type subscription struct {
	name         string
	observations []observation // by master
	waiters      []*waiter
}

// An observation is what one master last reported of a name.
//
//	unseen --read--> absent or held   armed, if the server tracks
//	held ----push--> changed          may be free; is read again
//	absent --push--> unseen           probably taken; is read again
//	any --connection lost--> unseen   is read again
type observation struct {
	state   uint8
	armed   bool      // the next change will be pushed
	reading bool      // a read is on the wire
	pushed  bool      // and a push came meanwhile
	ends    time.Time // of held: when the key will have expired; zero: not by itself
}

const (
	unseen uint8 = iota
	absent
	held
	changed
)

// fresh reports whether a new waiter may rely on the observation.
func (o *observation) fresh(now time.Time) bool {
	return o.armed && (o.state != held || o.ends.IsZero() || now.Before(o.ends))
}

// A waiter is one Await.
type waiter struct {
	poll   time.Duration
	free   chan struct{} // closed when a quorum may be free
	timer  *time.Timer   // at the alarm or at pollAt, whichever is first
	pollAt time.Time     // zero while a quorum would push
}

// Await returns nil when it is time to ask for name again: on a quorum of masters it may be
// free (it was read absent, it changed after it was read present, or its lease has run out).
// It does not poll, unless fewer than a quorum of masters notify: then it returns after poll,
// jittered by half, at the latest. It is a hint and grants nothing. Callers add jitter of
// their own, since all who wait for a name are woken at once.
//
// The first call opens one more connection per master. Await returns ctx.Err() when ctx
// ends and ErrClosed when the pipeline closes, at once. It starts no goroutine, and any
// number of calls may wait, for one name or many.
func (p *Pipeline) Await(ctx context.Context, name string, poll time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u, err := p.startWakeups()
	if err != nil {
		return err
	}
	sub, w := u.join(name, poll)
	defer u.leave(sub, w)
	select {
	case <-w.free:
		return nil
	case <-w.timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closing:
		return ErrClosed
	}
}

// startWakeups returns the pipeline's wakeups; the first call starts them.
func (p *Pipeline) startWakeups() (*wakeups, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.wakeups != nil {
		return p.wakeups, nil
	}
	u := &wakeups{p: p, names: make(map[string]*subscription)}
	for i, m := range p.masters {
		t := &tracker{wakeups: u, index: i, option: m.option, wake: make(chan struct{}, 1), unread: make(map[*subscription]struct{})}
		u.trackers = append(u.trackers, t)
		p.running.Go(func() {
			pprof.Do(p.ctx, pprof.Labels("muxlock", "tracker "+strconv.Itoa(i)), func(context.Context) { t.run() })
		})
	}
	p.wakeups = u
	return u, nil
}

func (u *wakeups) join(name string, poll time.Duration) (*subscription, *waiter) {
	w := &waiter{poll: poll, free: make(chan struct{}), timer: time.NewTimer(poll)}
	u.mu.Lock()
	defer u.mu.Unlock()
	sub := u.names[name]
	if sub == nil {
		sub = &subscription{name: name, observations: make([]observation, len(u.trackers))}
		u.names[name] = sub
		u.room = max(u.room, len(u.names))
	}
	sub.waiters = append(sub.waiters, w)
	now := time.Now()
	for m, t := range u.trackers {
		if o := &sub.observations[m]; !o.fresh(now) && !o.reading && !t.queuedLocked(sub) {
			*o = observation{}
			t.queueLocked(sub)
		}
	}
	u.settleLocked(sub)
	return sub, w
}

func (u *wakeups) leave(sub *subscription, w *waiter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w.timer.Stop()
	at := slices.Index(sub.waiters, w)
	if at < 0 {
		return // woken
	}
	if sub.waiters = slices.Delete(sub.waiters, at, at+1); len(sub.waiters) == 0 {
		u.forgetLocked(sub)
	}
}

func (u *wakeups) forgetLocked(sub *subscription) {
	delete(u.names, sub.name)
	for _, t := range u.trackers {
		delete(t.unread, sub)
	}
	if u.room > roomFrom && len(u.names) < u.room/4 { // a map never shrinks
		u.room = len(u.names)
		u.names = maps.Collect(maps.All(u.names))
		for _, t := range u.trackers {
			t.unread = maps.Collect(maps.All(t.unread))
		}
	}
}

// settleLocked wakes the waiters of sub, or sets their timers. It follows every change of
// an observation.
func (u *wakeups) settleLocked(sub *subscription) {
	free, armed, quorum := 0, 0, u.p.quorum
	u.ends = u.ends[:0]
	for _, o := range sub.observations {
		if o.armed {
			armed++
		}
		switch {
		case o.state == absent || o.state == changed:
			free++
		case o.state == held && !o.ends.IsZero():
			u.ends = append(u.ends, o.ends)
		}
	}
	if free >= quorum {
		for _, w := range sub.waiters {
			close(w.free)
		}
		sub.waiters = nil
		u.forgetLocked(sub)
		return
	}
	var alarm time.Time
	if missing := quorum - free; missing <= len(u.ends) {
		slices.SortFunc(u.ends, time.Time.Compare)
		alarm = u.ends[missing-1]
	}
	now := time.Now()
	for _, w := range sub.waiters {
		w.setLocked(now, alarm, armed >= quorum)
	}
}

// setLocked sets the timer; a zero alarm is none.
func (w *waiter) setLocked(now, alarm time.Time, notified bool) {
	switch {
	case notified:
		w.pollAt = time.Time{}
	case w.pollAt.IsZero():
		from, to := redlock.HeldDelay(w.poll)
		w.pollAt = now.Add(redlock.Jitter(from, to, fastrand.Uint32n))
	}
	at := alarm
	if at.IsZero() || !w.pollAt.IsZero() && w.pollAt.Before(at) {
		at = w.pollAt
	}
	if at.IsZero() {
		w.timer.Stop()
	} else {
		w.timer.Reset(at.Sub(now))
	}
}
