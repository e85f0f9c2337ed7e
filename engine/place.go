package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/line"
	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// A place is a contender's token in line at the masters, among the contenders of other processes. A release passes the
// lock to the first in line, and each master pushes the grant to the token's owner. So the name goes from process to
// process in order, in one round trip, and wakes nobody else. Package line has the rules, and why this is safe.
//
//	join ----> in line --pushes or replies of a quorum--> held
//	 ^          |  | ^
//	 |          |  '-' stay: some time has passed, the name may be free, or only some masters have granted
//	 '- passed -+-- the votes are split, another has the lock, or a master does not have the place
//	            '-- ctx ends, or too few masters answer --> passed, and no lock
//
// A master that lost the key of a lock is free, and its key is to be the holder's again. So a request asks to be queued
// only, unless the place may take the name: a quorum was free or granted to the place at the last answers (line.MayTake).
// A place that finds a quorum free asks again at once, so after an alarm, too: each renewal raises one. These requests may be
// granted whatever was answered: the first of a caller, since nothing is known; one after the holder's word; one of the leader
// of a split vote. What such a request is granted beside a lock is deleted, and the place joins again with a fresh token and its
// age.
type place struct {
	c         *contender
	token     string
	began     clock.Instant // the wait counts from then
	fenced    bool
	quorum    int
	origin    pipeline.Origin // of the join; unknown: it was not sent, or the pipeline has passed it
	changed   chan struct{}   // capacity 1: a quorum has granted
	timer     *time.Timer     // for the next request
	watches   sync.WaitGroup  // watch
	ctx       context.Context // of watch
	settled   int             // requests after split votes
	split     bool            // some masters, but not a quorum, had granted before the last request
	makesRoom bool            // another token had a quorum at the last answers

	mu       sync.Mutex // guards the following; a leaf
	rules    line.Place[clock.Instant]
	seats    []line.Seat[clock.Instant] // by master, like values, firsts and seconds
	values   []string                   // the holder's token, as last heard
	free     uint64                     // masters that were free at the last answers, one bit each
	mayTake  bool                       // the next request may be granted, whatever was answered
	queued   bool                       // the last request was to be queued only
	firsts   []string                   // in line behind this place
	seconds  []string
	due      clock.Instant // when timer fires
	told     clock.Instant // when the place may take a name that its holder left open; zero: no master said so
	missing  bool          // a master does not have the place
	watched  bool          // watch runs
	overtook bool          // somebody took the name after a watch: it is not passed on
	strange  clock.Instant // when a stranger was seen to hold the name; zero: never
	enough   func()        // ends the request under way once a quorum has granted; nil: none is under way, or it joins
	patience int           // doublings of the time for missing grants
	rank     int           // the lowest rank heard while the name was free; 0: none yet, or the first
}

const (
	// settleIn is for how long a lock is held or awaited before that costs a command: most holds are over by then. A
	// lock that was passed on is then extended to its ttl, and the first in line watches the name.
	settleIn = 5 * time.Millisecond
	// openFor is for how long a holder leaves the name to strangers: waiters that are told so delay by it.
	openFor = 10 * time.Millisecond
	// longestStray is how long a place waits for missing grants at most.
	longestStray = 300 * time.Millisecond
	// mostSettled is how often the leader of a split vote asks again.
	mostSettled = 4
)

// standsInLine reports whether c is to stand in line: other processes want the name, and a quorum of masters has lines.
// A contender with one attempt or a very short lease does not, nor does a reader or a set.
func (c *contender) standsInLine(ctx context.Context) bool {
	if c.most == 1 || c.ttl < line.LeastTTL || !kinds[c.kind].inLine {
		return false
	}
	c.state.shard.mu.Lock()
	lined := c.state.lined
	c.state.shard.unlock()
	return (lined || c.crowded) && c.e.at(c.name).Lines(ctx)
}

// stand lets c stand in line until it has the lock, too few masters answer or ctx ends. It returns what attempt returns.
func (c *contender) stand(ctx context.Context) (lock *Lock, next step, err error) {
	here := *c // on the heap, for its places; a contender that never stands in line allocates nothing
	lock, next, err = here.inLine(ctx)
	*c = here
	return lock, next, err
}

func (c *contender) inLine(ctx context.Context) (lock *Lock, next step, err error) {
	c.state.shard.mu.Lock()
	began := later(c.asked, c.state.term)
	c.state.shard.unlock()
	var before []string // the masters' values of the name when the previous place ended
	var free uint64     // the masters that were free then
	stuck := 0          // places in a row whose vote was split by the same token
	for again := true; again; {
		p := c.newPlace(began)
		p.free, p.mayTake = free, before == nil
		p.settled, p.patience = stuck, stuck
		var cancel context.CancelFunc
		p.ctx, cancel = context.WithCancel(ctx)
		var leader string
		lock, next, leader, err = p.wait(ctx)
		again = lock == nil && err == nil && next.kind == nil
		makesRoom := again && p.makesRoom
		switch {
		case makesRoom:
			c.made-- // it counted when it joined
		case again && c.made == c.most:
			next.kind, again = ErrTaken, false
		}
		cancel()
		p.leave(lock != nil, pipeline.Line{Named: [2]string{leader}, Nobody: makesRoom})
		stays := func(v string) bool { return v != "" && slices.Contains(before, v) } // not ours: each place has a token of its own
		if stuck = min(stuck+1, 10); !p.split || makesRoom || !slices.ContainsFunc(p.values, stays) {
			stuck = 0
		}
		before, free = p.values, p.free
		if again && (leader != "" || stuck > 0) { // it may stand in another line, with fencing or without, or be gone
			err = c.e.pause(ctx, p.strayDelay(stuck+1))
			again = err == nil
		}
	}
	return lock, next, err
}

func (c *contender) newPlace(began clock.Instant) *place {
	n := len(c.e.cfg.Masters)
	words := make([]string, 3*n)
	p := &place{
		c: c, token: token.For(c.e.cfg.Holder), began: began, fenced: c.e.cfg.Fencing, quorum: quorum.Size(n),
		changed: make(chan struct{}, 1), timer: time.NewTimer(time.Hour),
		seats: make([]line.Seat[clock.Instant], n), values: words[:n], firsts: words[n : 2*n], seconds: words[2*n:],
	}
	c.e.at(c.name).Listen(c.name, p.token, p)
	return p
}

// leave ends the place. Unless it was taken, its token is passed: to the leader of a split vote, to nobody, or to the next in line.
func (p *place) leave(taken bool, pass pipeline.Line) {
	p.mu.Lock()
	p.rules.GiveUp() // or it is taken: nothing is heard any more
	p.timer.Stop()
	p.mu.Unlock()
	p.c.e.at(p.c.name).Unlisten(p.token)
	p.watches.Wait() // they use the contender; their ctx has ended
	if !taken && p.origin != pipeline.OriginUnknown {
		p.c.e.at(p.c.name).Post(pipeline.Request{
			Op: pipeline.Pass, Name: p.c.name, Token: p.token, TTL: p.c.ttl, Origin: p.origin,
			Line: &pass,
		})
	}
}

// wait returns the lock; or the next step, without a kind if c is to stand in line again unless its attempts are used up; or
// an error. If it returns a leader, the token is to be passed to the leader.
func (p *place) wait(ctx context.Context) (lock *Lock, next step, leader string, err error) {
	e := p.c.e
	for stay := false; ; stay = true {
		out, err := p.ask(ctx, stay)
		if err != nil {
			return nil, step{}, "", err
		}
		for asked := true; ; asked = false {
			lock, next, err := p.take(ctx)
			if lock != nil || err != nil || next.kind != nil {
				return lock, next, "", err
			}
			if asked && !p.answered(out) {
				return nil, p.failed(out), "", nil
			}
			if asked {
				if again, leader := p.settle(); again {
					return nil, step{failed: newAttemptError(ErrTaken, anAcquire, len(p.seats), out)}, leader, nil
				}
			}
			select {
			case <-p.changed:
				continue
			case <-p.timer.C:
			case <-ctx.Done():
				return nil, step{}, "", oneline.Join(newAttemptError(ErrTaken, anAcquire, len(p.seats), out), ctx.Err())
			case <-e.closing:
				return nil, step{}, "", ErrClosed
			}
			break
		}
		e.record.counts.retries.Add(1)
	}
}

// ask sends the masters a request to join the line, or to stay there.
func (p *place) ask(ctx context.Context, stay bool) (pipeline.Outcome, error) {
	c, now := p.c, clock.Now()
	waited := now.Sub(p.began)
	next, told := line.StayAfter(waited, c.ttl), false
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.split = line.Live(p.seats, now, p.fenced) != 0
	may := p.mayTake || p.mayTakeLocked(now)
	switch {
	case p.told.IsZero():
	case p.told.Reached(now):
		p.told, told = clock.Instant{}, true
	default:
		next = min(next, p.told.Left(now))
	}
	p.free, p.mayTake, p.queued = 0, false, !may && !told
	l := &pipeline.Line{
		Version: p.rules.Ask(now), Lease: line.Passed(c.ttl), Stale: line.Stale(c.ttl), Stay: stay, Waited: waited, Told: told, Queued: p.queued,
	}
	p.due = now.Add(next)
	p.timer.Reset(next)
	if stay { // an abandoned join would be passed by the pipeline
		p.enough = cancel
	}
	p.mu.Unlock()
	if lines := c.e.at(c.name); stay && !lines.Lines(ended) { // a master may be back
		lines.Lines(asking)
	}
	out, err := c.e.at(c.name).Do(asking, pipeline.Request{
		Op: pipeline.Wait, Name: c.name, Token: p.token, TTL: c.ttl, Line: l, Patient: c.waitWhenFull || stay,
	})
	switch {
	case err != nil && ctx.Err() == nil && asking.Err() != nil: // a quorum granted meanwhile
		return pipeline.Outcome{}, nil
	case err != nil:
		return out, err
	case !stay:
		p.origin = out.Origin
		c.made++
	}
	if p.answered(out) {
		p.keepReadersOut()
		c.state.failedFor(ErrTaken)
		c.e.noteTook(clock.Now().Sub(sentAt(out, now)))
	}
	return out, nil
}

// keepReadersOut has new readers refused, if readers have the name.
func (p *place) keepReadersOut() {
	p.mu.Lock()
	readers := slices.Contains(p.values, pipeline.Readers)
	if readers {
		p.soonerLocked(intentEvery)
	}
	p.mu.Unlock() // Hear is called under the pipeline's locks
	if readers {
		p.c.readers = true
		p.c.keepReadersOut()
	}
}

// answered reports whether a quorum has answered, or may still.
func (p *place) answered(out pipeline.Outcome) bool {
	return len(p.seats)-int(out.Tally.Unknown) >= p.quorum
}

// failed is the step after a request that too few masters answered: an attempt without a line. The line's key may hold
// another type of value.
func (p *place) failed(out pipeline.Outcome) step {
	c := p.c
	c.crowded = false
	c.state.notLined()
	out.Verdict = quorum.NoQuorum
	c.made-- // it counted when it joined
	next := c.next(out, 0)
	c.e.record.counts.attempt(next, out)
	c.state.failedFor(next.kind)
	next.failed = newAttemptError(next.kind, anAcquire, len(p.seats), out)
	return next
}

// settle decides, after a request, whether to give the token up and join again.
func (p *place) settle() (again bool, leader string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enough = nil
	now := clock.Now()
	some := line.Live(p.seats, now, p.fenced) != 0
	next, leader := line.Settle(p.token, p.values, p.quorum)
	p.makesRoom = next == line.GiveBack
	switch {
	case p.missing, !some && p.fenced && slices.Contains(p.values, p.token): // the latter: grants were lost with their fencing tokens
		return true, ""
	case !some || !p.split || p.queued && p.mayTakeLocked(now): // the last one: it asks again at once
		return false, ""
	}
	switch next {
	case line.Again:
		if p.settled++; p.settled > mostSettled {
			return true, ""
		}
		p.mayTake = true
	case line.GiveBack:
		return true, ""
	case line.Yield:
		return true, leader
	}
	p.soonerLocked(p.strayDelay(p.patience))
	return false, ""
}

// strayDelay returns how long to wait for missing grants, with so many doublings.
func (p *place) strayDelay(doublings int) time.Duration {
	least := min(max(2*time.Millisecond, 4*p.c.e.roundTrip())<<doublings, longestStray)
	return redlock.Jitter(least, 2*least, fastrand.Uint32n)
}

// soonerLocked schedules the next request after d, unless it is due sooner.
func (p *place) soonerLocked(d time.Duration) {
	if due := clock.Now().Add(d); due.Before(p.due) {
		p.due = due
		p.timer.Reset(d)
	}
}

// Hear takes what a master says. It is called with the pipeline's locks held.
func (p *place) Hear(master int, a pipeline.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.rules.Waits() {
		return
	}
	switch a.Kind {
	case pipeline.Granted, pipeline.Has:
		p.grantedLocked(master, a)
	case pipeline.InLine:
		p.values[master] = a.Value
		if p.free &^= 1 << master; a.Value == "" {
			p.free |= 1 << master
		}
		if a.Value != "" && a.Value != pipeline.Readers && !token.Ours(a.Value) {
			p.strange = clock.Now()
		}
		if a.Rank == 0 && !p.watched {
			p.watched = true
			p.watches.Go(p.watch)
		}
		if a.Value == "" && a.Rank > 0 && (p.rank == 0 || a.Rank < p.rank) && p.told.IsZero() {
			p.rank = a.Rank // waiters in front may be gone, and each request removes a few of them
			p.soonerLocked(settleIn + 2*p.c.e.roundTrip())
		}
	case pipeline.Missing:
		p.values[master], p.seats[master] = "", line.Seat[clock.Instant]{}
		p.missing = true
	case pipeline.Opened:
		if p.told.IsZero() { // else another master has said so
			d := redlock.Jitter(openFor, openFor*3/2, fastrand.Uint32n)
			p.told = clock.Now().Add(d)
			p.soonerLocked(d)
			p.watches.Go(p.look)
		}
	case pipeline.Free:
		p.free |= 1 << master
		if p.told.IsZero() { // else it is left open
			p.soonerLocked(settleIn + 2*p.c.e.roundTrip())
		}
	}
	if answer := a.Kind == pipeline.InLine || a.Kind == pipeline.Has; answer && p.queued && p.told.IsZero() && p.mayTakeLocked(clock.Now()) {
		p.soonerLocked(0) // unless it is left open
	}
}

// mayTakeLocked reports whether the place may take the name, by the last answers.
func (p *place) mayTakeLocked(now clock.Instant) bool {
	return line.MayTake(p.free, line.Live(p.seats, now, p.fenced), p.quorum)
}

func (p *place) grantedLocked(master int, a pipeline.Answer) {
	now := clock.Now()
	before := line.Live(p.seats, now, p.fenced)
	if !p.rules.Grant(&p.seats[master], a.Version, redlock.Validity(a.Lease, 0, p.c.e.cfg.Drift), a.Fence) {
		return
	}
	p.values[master] = p.token
	if a.Kind == pipeline.Granted {
		p.firsts[master], p.seconds[master] = a.Next[0], a.Next[1]
		p.strange = later(p.strange, sightingAt(a.Word, now))
	}
	live := line.Live(p.seats, now, p.fenced)
	if _, won := line.Valid(p.seats, live, p.quorum); won {
		wake(p.changed)
		if p.enough != nil {
			go p.enough() // it runs code of the ctx that the caller gave
		}
	} else if before == 0 && live != 0 {
		p.soonerLocked(p.strayDelay(p.patience))
	}
}

// watch makes the place ask again when the name may be free, since not every release passes it on. The delay lets the
// holder's message that the name is left open arrive first. Readers pass nothing on, nor does a process that was never
// refused: it comes back sooner than after that delay, so a place that was overtaken asks without it.
func (p *place) watch() {
	c := p.c
	before, after := settleIn, finest+redlock.Jitter(0, c.e.spread(), fastrand.Uint32n)+c.gap()
	p.mu.Lock()
	switch {
	case slices.Contains(p.values, pipeline.Readers):
		before, after = 0, 0
	case p.overtook:
		after -= finest
	}
	p.mu.Unlock()
	err := c.e.pause(p.ctx, before)
	if err == nil {
		err = c.e.at(c.name).Await(p.ctx, c.name, c.e.cfg.RetryHeld)
	}
	if err == nil {
		err = c.e.pause(p.ctx, after)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watched = false; err == nil && p.told.IsZero() { // else it is left open
		p.overtook = true // unless it gets the name now
		p.soonerLocked(0)
	}
}

// look looks for strangers while the name is left open to them.
func (p *place) look() {
	for range 5 {
		if p.c.e.pause(p.ctx, redlock.Jitter(openFor/10, openFor/3, fastrand.Uint32n)) != nil {
			return
		}
		p.c.lookNow(p.ctx)
	}
}

// take returns the lock once a quorum of grants lives.
func (p *place) take(ctx context.Context) (*Lock, step, error) {
	c, e := p.c, p.c.e
	req := pipeline.Request{Op: pipeline.Wait, Name: c.name, Token: p.token, TTL: c.ttl, Origin: p.origin}
	p.mu.Lock()
	live := line.Live(p.seats, clock.Now(), p.fenced)
	until, won := line.Valid(p.seats, live, p.quorum)
	if !won {
		p.mu.Unlock()
		return nil, step{}, nil
	}
	p.rules.Take()
	first, second := line.Next(p.firsts, p.seconds)
	strange := p.strange
	heldOn, fences := 0, make([]uint64, len(p.seats))
	for m, s := range p.seats {
		if live&(1<<m) != 0 {
			heldOn++
			fences[m] = s.Fence
		}
	}
	p.mu.Unlock()
	if p.fenced {
		out := pipeline.Outcome{Verdict: quorum.Won}
		req.Fence, out.Granted, out.Stored = fencing.Decide(fences)
		if e.mustRaise(&out) {
			out, err := e.at(c.name).Do(ctx, e.raising(req, &out))
			if err != nil {
				return nil, step{}, err
			}
			if out.Verdict != quorum.Won {
				return nil, p.failed(out), nil
			}
		}
	}
	now := clock.Now()
	lock := grant(e, c.state, req, heldOn, now, now)
	lock.lease.passedOn(until, now)
	c.state.stoodInLine(strange, &[2]string{first, second})
	if lock, err := c.take(lock); err == nil {
		return lock, step{}, nil
	} else if errors.Is(err, ErrClosed) {
		return nil, step{}, err
	}
	e.record.counts.expired.Add(1)
	return nil, c.retry(ErrExpired), nil
}
