package wakeup

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"muxlock/pipeline/internal/conn"
)

// A tracker reads the awaited names on one master and receives its pushes. It has one
// goroutine, and one connection while there are awaited names and a while longer:
//
//	run: dial -> take what is unread -> CLIENT CACHING YES, PTTL, for each name
//	                    ^                                 |
//	                    '---- onPush: push, or the end ---'--> observations
//
// The connection is a session: it dials once. Other than the master's own it is in
// rueidis's pipelined mode. There rueidis reads in the background, calls onPush from there,
// pings a silent connection, and reports its end with nil. It reports a flush alike, which
// therefore ends the connection here.
//
// PTTL both arms tracking and reads, so no change can fall between: what comes before it is
// in its reply, what comes after is pushed. The push may overtake the reply on its way from
// rueidis's goroutine to ours; applyLocked corrects that.
//
// A server that refuses tracking is read over an ordinary session and cannot push.
type tracker struct {
	wakeups *Wakeups
	index   int // of its master
	option  rueidis.ClientOption
	wake    chan struct{} // capacity 1; signals that there is something to do

	// The following are guarded by wakeups.mu.
	connection uint64 // its number; the next as soon as it has ended
	tracked    bool   // the server pushes
	unread     map[*subscription]struct{}
	pushes     uint64
	reads      uint64

	// The following are owned by run.
	batch []*subscription
	pause time.Duration // before the next dial
}

// maxRead is how many names are read in one write: some 0.1 ms of the server's time.
const maxRead = 256

// readAgainAfter is how long after its push a name is read again. Doing so at once wakes
// more goroutines just when the waiter is to be woken (BenchmarkAwait: 180 us, not 150),
// and is wasted whenever the other masters' pushes are on their way.
const readAgainAfter = time.Millisecond

// KeepTracking is how long, at least, a connection stays open on which nobody waits: some 30 pings
// cost the server as much as a new connection with TLS.
const KeepTracking = 30 * time.Second

// run is the tracker's goroutine: it ends when the wakeups' ctx does. While nobody
// waits for a name, it does not dial.
func (t *tracker) run() {
	t.pause = conn.FirstPause
	for t.waitForWork() {
		s, connection, err := t.dial()
		if err == nil {
			start := time.Now()
			t.serve(s, connection)
			t.lose(connection)
			s.Release()
			s.Close()
			if time.Since(start) > conn.LongestPause {
				t.pause = conn.FirstPause
				continue
			}
		}
		if !conn.SleepGrowing(t.wakeups.ctx, &t.pause) {
			return
		}
	}
}

// waitForWork returns true when there is a name to be read, and false when it
// ends.
func (t *tracker) waitForWork() bool {
	for t.wakeups.ctx.Err() == nil {
		t.wakeups.mu.Lock()
		unread := len(t.unread)
		t.wakeups.mu.Unlock()
		if unread > 0 {
			return true
		}
		t.sleep()
	}
	return false
}

func (t *tracker) sleep() {
	select {
	case <-t.wake:
	case <-t.wakeups.ctx.Done():
	}
}

func (t *tracker) signal() {
	select {
	case t.wake <- struct{}{}:
	default: // a wake-up is on its way already
	}
}

// dial opens a connection with tracking or, where that is refused, without. The end of
// the wakeups' ctx ends it.
func (t *tracker) dial() (s *conn.Session, connection uint64, err error) {
	ctx, timeout := t.wakeups.ctx, t.wakeups.timeout
	t.wakeups.mu.Lock()
	connection = t.connection
	t.wakeups.mu.Unlock()
	s, err = conn.DialTracked(ctx, t.option, timeout, func(names []rueidis.RedisMessage) { t.onPush(connection, names) })
	tracked := err == nil
	if errors.Is(err, rueidis.ErrNoCache) {
		s, err = conn.Dial(ctx, t.option, timeout)
	}
	t.wakeups.mu.Lock()
	t.tracked = tracked && t.connection == connection
	t.wakeups.mu.Unlock()
	return s, connection, err
}

// serve reads what comes until the connection or the ctx ends.
func (t *tracker) serve(s *conn.Session, connection uint64) {
	for {
		tracked, live := t.take(connection)
		switch {
		case !live:
			return
		case len(t.batch) > 0:
			if !t.read(s, connection, tracked) {
				return
			}
		default:
			if !t.sleepWhileUsed() {
				return
			}
		}
	}
}

// sleepWhileUsed sleeps for up to keepTracking, and reports false if nobody waited for a name at
// the end.
func (t *tracker) sleepWhileUsed() bool {
	limit := time.NewTimer(KeepTracking)
	defer limit.Stop()
	select {
	case <-t.wake:
		return true
	case <-t.wakeups.ctx.Done():
		return true
	case <-limit.C:
	}
	t.wakeups.mu.Lock()
	defer t.wakeups.mu.Unlock()
	return len(t.wakeups.names) > 0
}

// take moves names from unread to batch.
func (t *tracker) take(connection uint64) (tracked, live bool) {
	t.wakeups.mu.Lock()
	defer t.wakeups.mu.Unlock()
	t.batch = t.batch[:0]
	if t.connection != connection || t.wakeups.ctx.Err() != nil {
		return false, false
	}
	for sub := range t.unread {
		if len(t.batch) == maxRead {
			break
		}
		delete(t.unread, sub)
		sub.observations[t.index].reading = true
		t.batch = append(t.batch, sub)
	}
	return t.tracked, true
}

// read asks for the names of the batch, and reports whether the connection goes on.
func (t *tracker) read(s *conn.Session, connection uint64, tracked bool) bool {
	caching := s.Client.B().Arbitrary("CLIENT", "CACHING", "YES").Build().Pin()
	commands := make([]rueidis.Completed, 0, 2*len(t.batch)) // not used again: rueidis may read it for longer than DoMulti takes
	for _, sub := range t.batch {
		if tracked {
			commands = append(commands, caching) // of the next command only
		}
		commands = append(commands, s.Client.B().Pttl().Key(sub.name).Build())
	}
	// PTTL counts from when the server executed it, a moment that we do not know. Counted from
	// before it was sent, the alarm is early by the way there, and the SET that follows has the
	// same way to go. Counted from the reply, it would be late by the way back.
	start := time.Now()
	replies := s.Client.DoMulti(context.Background(), commands...) // a hung server: the PINGs end it
	if transportError(replies) != nil {
		return false
	}
	t.wakeups.mu.Lock()
	defer t.wakeups.mu.Unlock()
	if t.connection != connection {
		return false
	}
	t.reads += uint64(len(t.batch))
	for _, sub := range t.batch {
		armed := tracked
		if tracked {
			err := replies[0].Error()
			if conn.IsServerWide(err) {
				return false
			}
			if err != nil {
				armed, t.tracked = false, false // not asked for again on this connection
			}
			replies = replies[1:]
		}
		left, err := replies[0].AsInt64()
		if conn.IsServerWide(err) {
			return false
		}
		replies = replies[1:]
		if err != nil {
			left = -3
		}
		t.applyLocked(sub, armed, left, start)
	}
	return true
}

// applyLocked notes what a read has found: milliseconds to live, as PTTL returns them, or
// -3 for no answer.
func (t *tracker) applyLocked(sub *subscription, armed bool, left int64, start time.Time) {
	if t.wakeups.names[sub.name] != sub {
		return // nobody waits for it any more; later waiters have a subscription of their own
	}
	o := &sub.observations[t.index]
	pushed := o.pushed
	*o = observation{armed: armed}
	switch {
	case left >= 0:
		// A key lives through the whole of its last millisecond.
		o.state, o.ends = held, start.Add(time.Duration(left+1)*time.Millisecond)
	case left == -1:
		o.state = held
	case left == -2:
		o.state = absent
	default:
		o.armed = false
	}
	if pushed { // before or after the read was executed: unknown
		o.armed = false
		t.queueLocked(sub)
	}
	t.wakeups.settleLocked(sub)
}

// onPush takes a push: the names that have changed; or nil for the end of tracking. rueidis
// calls it, from the goroutine that reads the connection.
func (t *tracker) onPush(connection uint64, names []rueidis.RedisMessage) {
	if names == nil {
		t.lose(connection)
		return
	}
	t.wakeups.mu.Lock()
	defer t.wakeups.mu.Unlock()
	if t.connection != connection {
		return
	}
	t.pushes++
	for n := range names {
		name, err := names[n].ToString()
		if err != nil {
			continue
		}
		if sub := t.wakeups.names[name]; sub != nil && !t.queuedLocked(sub) {
			t.pushedLocked(sub)
			t.wakeups.settleLocked(sub)
		}
	}
}

// pushedLocked notes that a name has changed. It is read again when the other masters have
// had the time to push: by then it is no longer awaited, or the name was taken again.
func (t *tracker) pushedLocked(sub *subscription) {
	o := &sub.observations[t.index]
	if o.reading {
		o.pushed = true
		return
	}
	state := unseen
	if o.state == held {
		state = changed
	}
	*o = observation{state: state}
	if len(t.unread) == 0 { // else a read is due anyway
		time.AfterFunc(readAgainAfter, t.signal)
	}
	t.unread[sub] = struct{}{}
}

// lose notes the end of a connection: all that was observed over it is read again.
func (t *tracker) lose(connection uint64) {
	t.wakeups.mu.Lock()
	defer t.wakeups.mu.Unlock()
	if t.connection != connection {
		return
	}
	t.connection++
	t.tracked = false
	for _, sub := range t.wakeups.names {
		sub.observations[t.index] = observation{}
		t.queueLocked(sub)
		t.wakeups.settleLocked(sub)
	}
	t.signal()
}

func (t *tracker) queuedLocked(sub *subscription) bool {
	_, yes := t.unread[sub]
	return yes
}

func (t *tracker) queueLocked(sub *subscription) {
	t.unread[sub] = struct{}{}
	t.signal()
}

// transportError returns the error that ended the connection in the middle of a
// batch, if one did.
func transportError(replies []rueidis.RedisResult) error {
	for i := range replies {
		if err := replies[i].NonRedisError(); err != nil {
			return err
		}
	}
	return nil
}
