package wakeup

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/redlock"
	"muxlock/pipeline/internal/conn"
)

// A tracker reads the awaited names on one master and receives its pushes. It has one goroutine. It has one connection while
// names are awaited, and a while longer:
//
//	run: dial -> take unread names --> CLIENT CACHING YES, PTTL, for each name
//	                    ^                                 |
//	                    '---- onPush: push, or the end ---'--> observations
//
// The connection is a session: it dials once. Unlike a session for batches it stays in rueidis's pipelined mode. There
// rueidis reads in the background, calls onPush from there, and reports the connection's end with nil. It reports a flush
// with nil, too. So a flush ends the connection.
//
// PTTL both arms tracking and reads, so no change is missed: an earlier change is in its reply, a later change is pushed.
// The push may overtake the reply on its way from rueidis's goroutine to ours; applyLocked corrects that.
//
// A server that refuses tracking is read over an ordinary session, without pushes, and is asked again after tryAgain: each
// refusal by an ACL is an entry of the server's ACL LOG.
type tracker struct {
	wakeups *Wakeups
	index   int // of the master
	option  rueidis.ClientOption
	wake    chan struct{} // capacity 1, signals that there is work; sent by signal

	// The following are guarded by wakeups.mu.
	connection uint64 // the number of the connection; grows as soon as one has ended
	tracked    bool   // the server pushes
	abstains   bool   // the master would grant nothing now (Votes)
	unread     map[*subscription]bool
	pushes     uint64
	reads      uint64

	// The following are owned by run.
	batch   []*subscription
	pause   time.Duration // before the next dial
	refused time.Time     // when the server refused tracking last
}

// maxRead bounds the names that one write reads: so many cost the server some 0.1 ms.
const maxRead = 256

// readAgainAfter is how long after its push a name is read again. A read at once would wake more goroutines just when the
// waiter is to be woken (BenchmarkAwait: 180 us, not 150). It would be wasted whenever the other masters' pushes are on
// their way.
const readAgainAfter = time.Millisecond

// From the mostVain-th push in vain in a row on, a push is not taken for a change, and the name is read later: each time
// twice as late, up to readAgainAfter<<(longestVain-mostVain), a second. (Without that, 300 names awaited, a table for 100:
// 75,000 commands/s, 25 times those of a large table.)
const (
	mostVain    = 3
	longestVain = mostVain + 10
)

// KeepTracking is the least time for which a connection stays open while nobody waits. Some 30 signs of life cost the server
// as much as a new connection with TLS.
const KeepTracking = 30 * time.Second

// tryAgain is how long a refusal of tracking is taken for lasting.
const tryAgain = 10 * time.Minute

// run is the tracker's goroutine: it ends when the ctx of the wakeups does. It dials only when a name is awaited.
func (t *tracker) run() {
	t.pause = redlock.FirstRedial
	for t.waitForWork() {
		s, connection, err := t.dial()
		if err == nil {
			start := time.Now()
			t.serve(s, connection)
			t.lose(connection)
			s.Release()
			s.Close()
			if time.Since(start) > redlock.LongestRedial {
				t.pause = redlock.FirstRedial
				continue
			}
		}
		if !conn.SleepGrowing(t.wakeups.ctx, &t.pause, 0) {
			return
		}
	}
}

// waitForWork returns true when there is a name to read, and false when the ctx has ended.
func (t *tracker) waitForWork() bool {
	for t.wakeups.ctx.Err() == nil {
		t.wakeups.mu.Lock()
		unread := len(t.unread)
		t.wakeups.mu.Unlock()
		if unread > 0 {
			return true
		}
		select {
		case <-t.wake:
		case <-t.wakeups.ctx.Done():
		}
	}
	return false
}

func (t *tracker) signal() {
	select {
	case t.wake <- struct{}{}:
	default: // a wake-up is on its way already
	}
}

// dial opens a connection with tracking or, if the server refuses that, without. It returns when the ctx of the wakeups
// ends.
func (t *tracker) dial() (s *conn.Session, connection uint64, err error) {
	ctx, timeout := t.wakeups.ctx, t.wakeups.timeout
	t.wakeups.mu.Lock()
	connection = t.connection
	t.wakeups.mu.Unlock()
	err = rueidis.ErrNoCache
	if t.refused.IsZero() || time.Since(t.refused) > tryAgain {
		s, err = conn.DialTracked(ctx, t.option, timeout, func(names []rueidis.RedisMessage) { t.onPush(connection, names) })
		t.refused = time.Time{}
	}
	tracked := err == nil
	if errors.Is(err, rueidis.ErrNoCache) {
		if t.refused.IsZero() {
			t.refused = time.Now()
		}
		s, err = conn.Dial(ctx, t.option, timeout, 0)
	}
	t.wakeups.mu.Lock()
	t.tracked = tracked && t.connection == connection
	t.wakeups.mu.Unlock()
	return s, connection, err
}

// serve reads names until the connection or the ctx ends.
func (t *tracker) serve(s *conn.Session, connection uint64) {
	for {
		tracked, live := t.take(connection)
		if live && len(t.batch) > 0 {
			live = t.read(s, connection, tracked)
		} else if live {
			live = t.sleepWhileUsed(s, tracked)
		}
		if !live {
			return
		}
	}
}

// sleepWhileUsed sleeps until there is work, for up to KeepTracking. Then it reports false if nobody waits for a name. It
// reports false, too, once a server that should push is hung.
func (t *tracker) sleepWhileUsed(s *conn.Session, tracked bool) bool {
	for end := time.Now().Add(KeepTracking); time.Now().Before(end); {
		select {
		case <-t.wake:
			return true
		case <-t.wakeups.ctx.Done():
			return true
		case <-time.After(conn.IdlePing):
		}
		if tracked && t.ask(s, s.Client.B().Pttl().Key(conn.ReservedPrefix).Build())[0].NonRedisError() != nil {
			return false
		}
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
	commands := make([]rueidis.Completed, 0, 2*len(t.batch)) // used once: rueidis may read it after DoMulti has returned
	for _, sub := range t.batch {
		if tracked {
			commands = append(commands, caching) // for the next command only
		}
		commands = append(commands, s.Client.B().Pttl().Key(sub.name).Build())
	}
	// PTTL counts from its execution, at an unknown time. We count from before it was sent. Then the alarm is early by the
	// way to the server, and the SET that follows has the same way to go. Counted from the reply, the alarm would be late by
	// the way back.
	start := time.Now()
	replies := t.ask(s, commands...)
	for i := range replies {
		if replies[i].NonRedisError() != nil || conn.IsServerWide(replies[i].Error()) {
			return false // the connection ended in the middle, or is to end
		}
	}
	took := time.Since(start)
	t.wakeups.mu.Lock()
	defer t.wakeups.mu.Unlock()
	if t.connection != connection {
		return false
	}
	t.reads += uint64(len(t.batch))
	for _, sub := range t.batch {
		armed := tracked
		if tracked {
			if replies[0].Error() != nil {
				armed, t.tracked = false, false // this connection does not ask for tracking again
			}
			replies = replies[1:]
		}
		left, err := replies[0].AsInt64()
		if err != nil {
			left = -3
		}
		replies = replies[1:]
		t.applyLocked(sub, armed, left, start, took)
	}
	return true
}

// ask returns the replies, or errors if the server hangs.
func (t *tracker) ask(s *conn.Session, commands ...rueidis.Completed) []rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(context.Background(), conn.IdlePing+t.wakeups.timeout)
	defer cancel()
	return s.Client.DoMulti(ctx, commands...)
}

// applyLocked notes the result of a read that took so long: milliseconds to live, as PTTL returns them, or -3 for no answer.
func (t *tracker) applyLocked(sub *subscription, armed bool, left int64, start time.Time, took time.Duration) {
	if t.wakeups.names[sub.name] != sub {
		return // nobody waits for the name any more; later waiters have another subscription
	}
	o := &sub.observations[t.index]
	pushed, before, now := o.pushed, o.before, sight{at: start}
	switch {
	case left >= 0:
		// A key lives through the whole of its last millisecond.
		now.state, now.ends, now.slack = held, start.Add(time.Duration(left+1)*time.Millisecond), took+time.Millisecond
	case left == -1:
		now.state = held
	case left == -2:
		now.state = absent
	default:
		armed = false
	}
	vain, last := o.judged(now)
	*o = observation{sight: now, armed: armed, last: last, doubted: last != now, vain: vain}
	if pushed { // the change came before or after the read: unknown
		o.armed, o.doubted = false, !before
		t.readAgainLocked(sub, 0)
	}
	t.wakeups.wakeDueLocked(sub)
}

// onPush takes a push: the names that have changed, or nil for the end of tracking. rueidis calls it, from the goroutine
// that reads the connection.
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
		if sub := t.wakeups.names[name]; sub != nil && !t.unread[sub] && !sub.observations[t.index].later {
			t.pushedLocked(sub)
			t.wakeups.wakeDueLocked(sub)
		}
	}
}

// pushedLocked notes that a name has changed. The name is read again when the other masters have had the time to push. By
// then nobody waits for the name, or somebody holds it again.
func (t *tracker) pushedLocked(sub *subscription) {
	o := &sub.observations[t.index]
	if o.reading {
		o.pushed = true
		return
	}
	o.armed, o.doubted = false, true
	switch {
	case o.state != held:
		o.sight = sight{}
	case o.vain < mostVain:
		o.sight = sight{state: changed}
	}
	t.readAgainLocked(sub, readAgainAfter)
}

// readAgainLocked has a pushed name read after a delay. The delay is longer the more pushes were in vain.
func (t *tracker) readAgainLocked(sub *subscription, after time.Duration) {
	o := &sub.observations[t.index]
	switch {
	case o.vain >= mostVain:
		o.later = true
		time.AfterFunc(readAgainAfter<<(o.vain-mostVain), func() {
			t.wakeups.mu.Lock()
			defer t.wakeups.mu.Unlock()
			if t.wakeups.names[sub.name] == sub && o.later { // else the connection was lost, or nobody waits
				o.later = false
				t.queueLocked(sub)
			}
		})
		return
	case after == 0:
		t.signal()
	case len(t.unread) == 0: // else a read is due anyway
		time.AfterFunc(after, t.signal)
	}
	t.unread[sub] = true
}

// lose notes the end of a connection: all names that it observed are read again.
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
		t.wakeups.wakeDueLocked(sub)
	}
	t.signal()
}

func (t *tracker) queueLocked(sub *subscription) {
	t.unread[sub] = true
	t.signal()
}
