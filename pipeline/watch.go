package pipeline

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Waking those who wait for a name that others hold.
//
// The naive way is to ask again every so often: too often for the masters, too seldom
// for the caller. Redis can tell instead. A connection with client tracking that has
// read a key is sent a push when the key next changes: once, so that the key must be
// read again to hear of the change after that. So each master gets a second connection
// and a watcher (watcher.go) that reads the awaited names, PTTL and nothing else: it
// arms the tracking of a key that is there and of one that is not, says how long the
// key has to live, and leaves the token where it is.
//
// What the masters have said of a name is its sights, one per master. Whatever changes
// one settles the interest: a quorum of sights that may be free wakes its waiters. A
// push counts as free at once; soon after, the name is read again, which takes that back
// if the key is still there. So a waiter wakes a round trip sooner after a release than
// by reading first (BenchmarkAwait: 150 us, not 255), and in vain after an extend.
//
// A key that expires is announced when Redis happens to find it, which takes from
// milliseconds to seconds. Therefore the alarm: the moment from which, by the PTTLs, the
// name is free on a quorum. Where fewer than a quorum would push (tracking refused,
// connection lost), the waiter sleeps as it did without all this.
//
// All of it is a hint. Nothing here grants or votes; a waiter that is woken asks the
// masters like any other caller, and no rule of the lock rests on when it does.

// A watch is all names that are awaited. One mutex guards it: an event is a few loads
// per master.
type watch struct {
	p        *Pipeline
	watchers []*watcher // one per master; fixed

	mu    sync.Mutex // guards the following, and what a watcher says it does
	names map[string]*interest
	room  int         // names that the maps were made for, or have grown to
	ends  []time.Time // scratch of settleLocked
}

// roomFrom is from how many names on the room of the maps is given back.
const roomFrom = 1024

// An interest is a name that somebody awaits. It is forgotten with its last waiter.
type interest struct {
	name    string
	sights  []sight // by master
	waiters []*waiter
}

// A sight is what one master has said of a name.
//
//	unseen --read--> absent or held   armed, if the server tracks
//	held ----push--> changed          may be free; to be read again
//	absent --push--> unseen           taken, as like as not; to be read again
//	any --connection lost--> unseen   to be read again
type sight struct {
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

// fresh reports whether a newcomer may rely on the sight.
func (s *sight) fresh(now time.Time) bool {
	return s.armed && (s.state != held || s.ends.IsZero() || now.Before(s.ends))
}

// A waiter is one Await.
type waiter struct {
	poll   time.Duration
	free   chan struct{} // closed when a quorum may be free
	timer  *time.Timer   // at the alarm or at pollAt, whichever is first
	pollAt time.Time     // zero while a quorum would push
}

// Await returns nil when it is time to ask for name again: a quorum of masters has said
// that it may be free (it was read absent, or a push said that it changed after it was
// read present), or would say so by now (the leases that stand in the way have run out).
// It does not poll, unless fewer than a quorum of masters can be watched: then it returns
// after poll, jittered by half, at the latest. It is a hint and grants nothing; callers
// add jitter of their own, since all who wait for a name are woken at once.
//
// The first call opens one more connection per master. Await returns ctx.Err() when ctx
// ends and ErrClosed when the pipeline closes, at once. It starts no goroutine, and any
// number of calls may wait, for one name or many.
func (p *Pipeline) Await(ctx context.Context, name string, poll time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := p.watching()
	if err != nil {
		return err
	}
	i, w := h.join(name, poll)
	defer h.leave(i, w)
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

// watching returns the pipeline's watch; the first call starts it.
func (p *Pipeline) watching() (*watch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.watch != nil {
		return p.watch, nil
	}
	h := &watch{p: p, names: make(map[string]*interest)}
	for i, m := range p.masters {
		w := &watcher{watch: h, index: i, option: m.option, wake: make(chan struct{}, 1), unread: make(map[*interest]struct{})}
		h.watchers = append(h.watchers, w)
		p.running.Go(func() {
			pprof.Do(p.ctx, pprof.Labels("muxlock", "watcher "+strconv.Itoa(i)), func(context.Context) { w.run() })
		})
	}
	p.watch = h
	return h, nil
}

func (h *watch) join(name string, poll time.Duration) (*interest, *waiter) {
	w := &waiter{poll: poll, free: make(chan struct{}), timer: time.NewTimer(poll)}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.names[name]
	if i == nil {
		i = &interest{name: name, sights: make([]sight, len(h.watchers))}
		h.names[name] = i
		h.room = max(h.room, len(h.names))
	}
	i.waiters = append(i.waiters, w)
	now := time.Now()
	for m, by := range h.watchers {
		if s := &i.sights[m]; !s.fresh(now) && !s.reading && !by.queuedLocked(i) {
			*s = sight{}
			by.queueLocked(i)
		}
	}
	h.settleLocked(i)
	return i, w
}

func (h *watch) leave(i *interest, w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.timer.Stop()
	at := slices.Index(i.waiters, w)
	if at < 0 {
		return // woken
	}
	if i.waiters = slices.Delete(i.waiters, at, at+1); len(i.waiters) == 0 {
		h.forgetLocked(i)
	}
}

func (h *watch) forgetLocked(i *interest) {
	delete(h.names, i.name)
	for _, w := range h.watchers {
		delete(w.unread, i)
	}
	if h.room > roomFrom && len(h.names) < h.room/4 { // a map keeps the room that it once had
		h.room = len(h.names)
		h.names = maps.Collect(maps.All(h.names))
		for _, w := range h.watchers {
			w.unread = maps.Collect(maps.All(w.unread))
		}
	}
}

// settleLocked wakes those who wait for i, or sets their timers. It follows every
// change of a sight.
func (h *watch) settleLocked(i *interest) {
	free, armed, quorum := 0, 0, h.p.quorum
	h.ends = h.ends[:0]
	for _, s := range i.sights {
		if s.armed {
			armed++
		}
		switch {
		case s.state == absent || s.state == changed:
			free++
		case s.state == held && !s.ends.IsZero():
			h.ends = append(h.ends, s.ends)
		}
	}
	if free >= quorum {
		for _, w := range i.waiters {
			close(w.free)
		}
		i.waiters = nil
		h.forgetLocked(i)
		return
	}
	var alarm time.Time
	if missing := quorum - free; missing <= len(h.ends) {
		slices.SortFunc(h.ends, time.Time.Compare)
		alarm = h.ends[missing-1]
	}
	now := time.Now()
	for _, w := range i.waiters {
		w.setLocked(now, alarm, armed >= quorum)
	}
}

// setLocked sets the timer; a zero alarm is none.
func (w *waiter) setLocked(now, alarm time.Time, watched bool) {
	switch {
	case watched:
		w.pollAt = time.Time{}
	case w.pollAt.IsZero():
		w.pollAt = now.Add(w.poll/2 + rand.N(max(w.poll, 1)))
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
