// Package wakeup wakes goroutines that wait for a name that others hold.
//
// The naive way is to ask again every so often: too often for the masters, too seldom for the caller. Redis can notify
// instead. A connection with client tracking that has read a key gets one push when the key next changes. For another push
// the key must be read again. So each master gets a second connection and a tracker (tracker.go), which reads the awaited
// names by PTTL only. PTTL arms the tracking of a key, present or absent. It returns how long the key has to live, and does
// not fetch the token.
//
// An awaited name has a subscription, with an observation per master: the master's last report of the name. Every change of
// an observation wakes the waiters if the name may be free on a quorum. A push counts as free at once. Soon after, the name
// is read again, which corrects the observation if the key is still there. So after a release a waiter wakes a round trip
// sooner than by reading first (BenchmarkAwait: 150 us, not 255). After an extend it wakes needlessly.
//
// Redis notifies of an expired key only when it happens to find it, after milliseconds to seconds. Hence the alarm: the
// moment from which on the name is free on a quorum, by the PTTLs. Only masters that vote count. While fewer than a quorum
// would push (tracking refused, connection lost), the waiter polls as it would without notifications.
//
// A server has a table of tracked names (tracking-table-max-keys). If it is full, each read evicts another name, whose
// client gets a push like any other. Such a push is in vain: the next read finds the same lease. A name with some of these
// in a row is woken by reads alone, ever more rarely (mostVain). It is still remembered when its waiter comes back, since a
// push may have woken it. A release, as soon as it is read, makes the name's pushes count again.
//
// A wake-up is a hint. Nothing here grants or votes. A waiter that wakes asks the masters like any other caller, and no rule
// of the lock depends on when it does.
package wakeup

import (
	"context"
	"maps"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/valyala/fastrand"

	"muxlock/internal/redlock"
)

// Wakeups has the subscriptions of a pipeline. One mutex guards it: an event is a few loads per master.
type Wakeups struct {
	ctx      context.Context // its end ends the trackers
	quorum   int
	timeout  time.Duration // for a write to a master and its answer
	trackers []*tracker    // one per master; fixed
	running  sync.WaitGroup

	mu     sync.Mutex // guards the following, and some fields of the trackers
	names  map[string]*subscription
	room   int                      // the largest number of names since the maps were made
	ends   []time.Time              // scratch of wakeDueLocked
	pushed map[string][]observation // of names that are not awaited, for waiters who come back; at most mostPushed
}

// roomFrom is the number of names from which on the maps are shrunk.
const roomFrom = 1024

// mostPushed bounds pushed.
const mostPushed = 1 << 13

// A subscription is a name that somebody awaits. It ends with its last waiter.
type subscription struct {
	name         string
	observations []observation // by master
	waiters      []*Waiter
}

// An observation is what one master last reported of a name; guarded by Wakeups.mu.
//
//	unseen --read--> absent or held   armed, if the server tracks
//	held ----push--> changed          may be free; is read again
//	absent --push--> unseen           probably taken; is read again
//	held ----push--> held             after some pushes in vain; is read later
//	any --connection lost--> unseen   is read again
type observation struct {
	sight
	armed   bool  // the next change will be pushed
	reading bool  // a read is on the wire
	pushed  bool  // a push came during the read
	later   bool  // a read is due later
	before  bool  // armed for earlier waiters: a push during the first read may be of that time
	doubted bool  // a push came after last
	vain    uint8 // pushes in vain (mostVain)
	last    sight // what the last read found that pushes are judged by
}

// A sight is what a read finds, or a push makes of it.
type sight struct {
	state uint8
	ends  time.Time     // if held: when the key will have expired; zero: never
	slack time.Duration // how much later the same end may be read again
	at    time.Time     // when the read began
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

// judged returns the pushes in vain after a read. An end that has moved out halves them: the lease was extended, or another
// one has taken its place. A name that is set anew soon, with the same ttl, has an end as near as the same lease has. So a
// read soon after last leaves the push undecided, and last as it was.
func (o *observation) judged(now sight) (vain uint8, last sight) {
	last, d := o.last, now.ends.Sub(o.last.ends)
	switch {
	case !o.doubted:
		return o.vain, now
	case now.state == unseen || now.state != last.state || now.ends.IsZero() != last.ends.IsZero() || -d > now.slack:
		return 0, now
	case d > last.slack:
		return o.vain / 2, now
	case now.at.Sub(last.at) < 3*last.slack:
		return o.vain, last
	}
	return min(o.vain+1, longestVain), now
}

// A Waiter waits for a name: for Free and for the Timer.
type Waiter struct {
	sub    *subscription
	poll   time.Duration
	Free   chan struct{} // closed when the name may be free on a quorum
	Timer  *time.Timer   // fires at the alarm or at pollAt, whichever is first
	pollAt time.Time     // zero while a quorum would push
}

// New starts a tracker for each master. The trackers end with ctx, and Wait waits for them. The options must come from
// conn.Limited.
func New(ctx context.Context, masters []rueidis.ClientOption, quorum int, timeout time.Duration) *Wakeups {
	u := &Wakeups{ctx: ctx, quorum: quorum, timeout: timeout, names: make(map[string]*subscription), pushed: make(map[string][]observation)}
	for i, option := range masters {
		t := &tracker{wakeups: u, index: i, option: option, wake: make(chan struct{}, 1), unread: make(map[*subscription]bool)}
		u.trackers = append(u.trackers, t)
		u.running.Go(func() {
			pprof.Do(ctx, pprof.Labels("muxlock", "tracker "+strconv.Itoa(i)), func(context.Context) { t.run() })
		})
	}
	return u
}

// Wait returns when all trackers have ended.
func (u *Wakeups) Wait() { u.running.Wait() }

// Votes notes whether a master would grant what is free. At first all do. The observations of one that does not are left out:
// its word would wake waiters over and over, and none of them could get the name.
func (u *Wakeups) Votes(master int, votes bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.trackers[master].abstains = !votes
	for _, sub := range u.names {
		u.wakeDueLocked(sub)
	}
}

// Join adds a waiter for a name. Its caller must call Leave. While fewer than a quorum of masters would push, the Timer
// fires after poll, jittered by half, at the latest.
func (u *Wakeups) Join(name string, poll time.Duration) *Waiter {
	w := &Waiter{poll: poll, Free: make(chan struct{}), Timer: time.NewTimer(poll)}
	u.mu.Lock()
	defer u.mu.Unlock()
	sub := u.names[name]
	if sub == nil {
		sub = &subscription{name: name, observations: u.pushed[name]}
		if delete(u.pushed, name); sub.observations == nil {
			sub.observations = make([]observation, len(u.trackers))
		}
		u.names[name] = sub
		u.room = max(u.room, len(u.names))
	}
	w.sub = sub
	sub.waiters = append(sub.waiters, w)
	now := time.Now()
	for m, t := range u.trackers {
		if o := &sub.observations[m]; !o.fresh(now) && !o.reading && !o.later && !t.unread[sub] {
			o.armed, o.sight = false, sight{}
			t.queueLocked(sub)
		}
	}
	u.wakeDueLocked(sub)
	return w
}

// Leave ends a waiter, whether it was woken or not.
func (u *Wakeups) Leave(w *Waiter) {
	sub := w.sub
	u.mu.Lock()
	defer u.mu.Unlock()
	w.Timer.Stop()
	at := slices.Index(sub.waiters, w)
	if at < 0 {
		return // woken
	}
	if sub.waiters = slices.Delete(sub.waiters, at, at+1); len(sub.waiters) == 0 {
		u.forgetLocked(sub)
	}
}

func (u *Wakeups) forgetLocked(sub *subscription) {
	delete(u.names, sub.name)
	u.rememberLocked(sub)
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

// rememberLocked keeps what tells pushes in vain from others.
func (u *Wakeups) rememberLocked(sub *subscription) {
	for i, o := range sub.observations {
		sub.observations[i] = observation{before: o.armed, doubted: o.doubted || o.pushed, vain: o.vain, last: o.last}
	}
	if slices.ContainsFunc(sub.observations, func(o observation) bool { return o.doubted || o.vain > 0 }) {
		if len(u.pushed) == mostPushed {
			clear(u.pushed)
		}
		u.pushed[sub.name] = sub.observations
	}
}

// wakeDueLocked wakes the waiters of sub, or resets their timers. It follows every change of an observation.
func (u *Wakeups) wakeDueLocked(sub *subscription) {
	free, armed, quorum := 0, 0, u.quorum
	u.ends = u.ends[:0]
	for m, o := range sub.observations {
		t := u.trackers[m]
		if !t.abstains && (o.armed || o.later || t.tracked && (o.reading || t.unread[sub])) {
			armed++
		}
		switch {
		case t.abstains:
		case o.state == absent || o.state == changed:
			free++
		case o.state == held && !o.ends.IsZero():
			u.ends = append(u.ends, o.ends)
		}
	}
	if free >= quorum {
		for _, w := range sub.waiters {
			close(w.Free)
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
		w.resetLocked(now, alarm, armed >= quorum)
	}
}

// resetLocked resets the timer; a zero alarm is none.
func (w *Waiter) resetLocked(now, alarm time.Time, notified bool) {
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
		w.Timer.Stop()
	} else {
		w.Timer.Reset(at.Sub(now))
	}
}

// Awaited returns, for each awaited name, how many masters would push its next change. Tests learn from it when waiters
// sleep, and that no subscription is left.
func (u *Wakeups) Awaited() map[string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	names := make(map[string]int)
	for name, sub := range u.names {
		names[name] = 0
		for _, o := range sub.observations {
			if o.armed {
				names[name]++
			}
		}
	}
	for _, t := range u.trackers {
		for sub := range t.unread {
			names[sub.name] += 0
		}
	}
	return names
}

// Stats returns the counters of a master's tracker, and whether its server pushes.
func (u *Wakeups) Stats(master int) (tracking bool, reads, pushes uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.trackers[master]
	return t.tracked, t.reads, t.pushes
}
