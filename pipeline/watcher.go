package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
)

// A watcher reads the awaited names on one master and hears its pushes. It has one
// goroutine, and one connection while it has something to read or to hear:
//
//	run: dial -> take what is unread -> CLIENT CACHING YES, PTTL, for each name
//	                    ^                                 |
//	                    '---- heard: push, or the end ----'--> sights
//
// The connection is a session: it dials once. Other than the master's own it is in
// rueidis's pipelined mode, where rueidis reads in the background and calls heard from
// there, pings a silent connection, and is told with nil of its end (and of a flush,
// which ends it here: too rare to be told apart).
//
// Arming and reading is one command, so no change can fall between: what comes before
// PTTL is in its reply, what comes after is pushed. The push may overtake the reply on
// its way from rueidis's goroutine to ours; apply puts that right.
//
// A server that refuses tracking is read over an ordinary session and cannot push.
type watcher struct {
	watch  *watch
	index  int // of its master
	option rueidis.ClientOption
	wake   chan struct{} // capacity 1; says that there is something to do

	// The following are guarded by watch.mu.
	connection uint64 // its number; the next as soon as it has ended
	tracked    bool   // the server pushes
	unread     map[*interest]struct{}
	pushes     uint64
	reads      uint64

	// The following are owned by run.
	batch []*interest
	pause time.Duration // before the next dial
}

// maxRead is how many names are read in one write: some 0.1 ms of the server's time.
const maxRead = 256

// readAgainAfter is how long after its push a name is read again. Doing so at once wakes
// more goroutines just when the waiter is to be woken (BenchmarkAwait: 180 us, not 150)
// and is in vain whenever the other masters' pushes are on their way.
const readAgainAfter = time.Millisecond

// run is the watcher's goroutine: it ends when the pipeline's ctx does. While nobody
// waits for anything, it does not dial.
func (w *watcher) run() {
	p := w.watch.p
	w.pause = firstPause
	for w.waitForWork() {
		s, connection, err := w.dial()
		if err == nil {
			start := time.Now()
			w.serve(s, connection)
			w.lose(connection)
			s.release()
			s.close()
			if time.Since(start) > longestPause {
				w.pause = firstPause
				continue
			}
		}
		if !sleepGrowing(p.ctx, &w.pause) {
			return
		}
	}
}

// waitForWork returns true when there is a name to be read, and false when the
// pipeline closes.
func (w *watcher) waitForWork() bool {
	for w.watch.p.ctx.Err() == nil {
		w.watch.mu.Lock()
		unread := len(w.unread)
		w.watch.mu.Unlock()
		if unread > 0 {
			return true
		}
		w.sleep()
	}
	return false
}

func (w *watcher) sleep() {
	select {
	case <-w.wake:
	case <-w.watch.p.ctx.Done():
	}
}

func (w *watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is on its way already
	}
}

// dial opens a connection with tracking or, where that is refused, without. The end of
// the pipeline's ctx ends it.
func (w *watcher) dial() (s *session, connection uint64, err error) {
	p := w.watch.p
	w.watch.mu.Lock()
	connection = w.connection
	w.watch.mu.Unlock()
	s, err = dialTracked(p.ctx, w.option, p.timeout, func(names []rueidis.RedisMessage) { w.heard(connection, names) })
	tracked := err == nil
	if errors.Is(err, rueidis.ErrNoCache) {
		s, err = dial(p.ctx, w.option, p.timeout)
	}
	w.watch.mu.Lock()
	w.tracked = tracked && w.connection == connection
	w.watch.mu.Unlock()
	return s, connection, err
}

// serve reads what comes until the connection fails or the pipeline closes.
func (w *watcher) serve(s *session, connection uint64) {
	for {
		tracked, live := w.take(connection)
		switch {
		case !live:
			return
		case len(w.batch) > 0:
			if !w.read(s, connection, tracked) {
				return
			}
		default:
			w.sleep()
		}
	}
}

// take moves names from unread to batch.
func (w *watcher) take(connection uint64) (tracked, live bool) {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	w.batch = w.batch[:0]
	if w.connection != connection || w.watch.p.ctx.Err() != nil {
		return false, false
	}
	for i := range w.unread {
		if len(w.batch) == maxRead {
			break
		}
		delete(w.unread, i)
		i.sights[w.index].reading = true
		w.batch = append(w.batch, i)
	}
	return w.tracked, true
}

// read asks for the names of the batch, and reports whether the connection goes on.
func (w *watcher) read(s *session, connection uint64, tracked bool) bool {
	caching := s.client.B().Arbitrary("CLIENT", "CACHING", "YES").Build().Pin()
	commands := make([]rueidis.Completed, 0, 2*len(w.batch)) // not used again: rueidis may read it for longer than DoMulti takes
	for _, i := range w.batch {
		if tracked {
			commands = append(commands, caching) // of the next command only
		}
		commands = append(commands, s.client.B().Pttl().Key(i.name).Build())
	}
	// PTTL counts from when the server looked, which we do not know. Counted from before
	// it was asked, the alarm comes early by the way there, and the SET that follows has
	// the same way to go. Counted from the reply it would be late by the way back.
	start := time.Now()
	replies := s.client.DoMulti(context.Background(), commands...) // a hung server: the PINGs end it
	if transportError(replies) != nil {
		return false
	}
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	if w.connection != connection {
		return false
	}
	w.reads += uint64(len(w.batch))
	for _, i := range w.batch {
		armed := tracked
		if tracked {
			err := replies[0].Error()
			if isSick(err) {
				return false
			}
			if err != nil {
				armed, w.tracked = false, false // not asked for again on this connection
			}
			replies = replies[1:]
		}
		left, err := replies[0].AsInt64()
		if isSick(err) {
			return false
		}
		replies = replies[1:]
		if err != nil {
			left = -3
		}
		w.applyLocked(i, armed, left, start)
	}
	return true
}

// applyLocked notes what a read has found: milliseconds to live, as PTTL gives them, or
// -3 for no answer.
func (w *watcher) applyLocked(i *interest, armed bool, left int64, start time.Time) {
	if w.watch.names[i.name] != i {
		return // nobody waits for it any more; who does now has an interest of their own
	}
	s := &i.sights[w.index]
	pushed := s.pushed
	*s = sight{armed: armed}
	switch {
	case left >= 0:
		// A key lives through the whole of its last millisecond.
		s.state, s.ends = held, start.Add(time.Duration(left+1)*time.Millisecond)
	case left == -1:
		s.state = held
	case left == -2:
		s.state = absent
	default:
		s.armed = false
	}
	if pushed { // before or after the server looked: who knows
		s.armed = false
		w.queueLocked(i)
	}
	w.watch.settleLocked(i)
}

// heard takes a push: the names that have changed; or nil for the end of what was
// known. rueidis calls it, from the goroutine that reads the connection.
func (w *watcher) heard(connection uint64, names []rueidis.RedisMessage) {
	if names == nil {
		w.lose(connection)
		return
	}
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	if w.connection != connection {
		return
	}
	w.pushes++
	for n := range names {
		name, err := names[n].ToString()
		if err != nil {
			continue
		}
		if i := w.watch.names[name]; i != nil && !w.queuedLocked(i) {
			w.pushedLocked(i)
			w.watch.settleLocked(i)
		}
	}
}

// pushedLocked notes that a name has changed. It is read again when the other masters
// have had the time to push: then it is either awaited no more, or still is with reason.
func (w *watcher) pushedLocked(i *interest) {
	s := &i.sights[w.index]
	if s.reading {
		s.pushed = true
		return
	}
	state := unseen
	if s.state == held {
		state = changed
	}
	*s = sight{state: state}
	if len(w.unread) == 0 { // else it is going to be looked at
		time.AfterFunc(readAgainAfter, w.poke)
	}
	w.unread[i] = struct{}{}
}

// lose notes the end of a connection: all that was seen over it is to be read again.
func (w *watcher) lose(connection uint64) {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	if w.connection != connection {
		return
	}
	w.connection++
	w.tracked = false
	for _, i := range w.watch.names {
		i.sights[w.index] = sight{}
		w.queueLocked(i)
		w.watch.settleLocked(i)
	}
	w.poke()
}

func (w *watcher) queuedLocked(i *interest) bool {
	_, yes := w.unread[i]
	return yes
}

func (w *watcher) queueLocked(i *interest) {
	w.unread[i] = struct{}{}
	w.poke()
}

// tell fills in the watcher's part.
func (w *watcher) tell(stats *MasterStats) {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	stats.Watched, stats.Reads, stats.Pushes = w.tracked, w.reads, w.pushes
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
