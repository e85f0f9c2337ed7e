// Package events has the queue between the engine and user code, the Observer and the Logger. User code may take any
// time: nobody else waits for it.
//
//	calls, keeper, masters --Add, Require--> oldest ... newest --run, one goroutine--> Observer, Logger
//
// The queue is bounded: where user code falls behind, the oldest event is dropped. Events that should not be missed are
// required, and have a bound of their own. Beyond it, one replaces the last one that is of the same.
package events

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// A Queue calls user code in the order of the events. A nil Queue takes nothing and costs nothing.
type Queue struct {
	logger *slog.Logger  // nil: gaps are only counted
	ended  chan struct{} // closed when run returns

	mu        sync.Mutex // guards the following; a leaf: taken under any lock, none is taken under it
	changed   sync.Cond  // run waits for it
	added     uint64     // how many events so far; numbers the next one
	queue     []event    // at most Most
	required  []event    // kept longer; at most Most, and one more of each that they are of
	dropped   uint64     // since New
	gap       uint64     // how many of dropped are not logged yet
	losses    uint64     // how many of gap were required, and of no master: losses of locks
	over      []*Warning // their periods are over
	warnings  []*Warning // what they counted is logged at the end
	closed    bool       // nothing is taken any more
	abandoned bool       // Close waits no longer: run drops the rest
}

// An event is a call that run makes, with its number.
type event struct {
	deliver func()
	seq     uint64
	of      string // the master of a required event; empty: it is a lock's
}

const (
	Most      = 4096        // events that wait, and as many required ones
	CloseWait = time.Second // how long Close waits for the delivery of the rest
)

// New starts the goroutine that calls user code. Close ends it. The warnings are those that Warn gets.
func New(logger *slog.Logger, warnings ...*Warning) *Queue {
	q := &Queue{logger: logger, warnings: warnings, ended: make(chan struct{})}
	q.changed.L = &q.mu
	go q.run()
	return q
}

// Add queues an event.
func (q *Queue) Add(deliver func()) { q.put(&q.queue, event{deliver: deliver}) }

// Require queues an event of a lock, or of a master, that is not dropped for others that Add queues.
func (q *Queue) Require(master string, deliver func()) {
	q.put(&q.required, event{deliver: deliver, of: master})
}

// Log queues a line of the log.
func (q *Queue) Log(level slog.Level, required bool, text string, attributes ...any) {
	if q == nil || q.logger == nil {
		return
	}
	into := &q.queue
	if required {
		into = &q.required
	}
	q.put(into, event{deliver: func() { q.logger.Log(context.Background(), level, text, attributes...) }})
}

func (q *Queue) put(into *[]event, added event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.added++
	added.seq = q.added
	if len(*into) >= Most {
		q.makeRoomLocked(into, added.of)
	}
	*into = append(*into, added)
	q.changed.Signal()
}

// makeRoomLocked drops the oldest event. Of the required ones it drops the last of the same master, or the last loss.
func (q *Queue) makeRoomLocked(from *[]event, of string) {
	i := 0
	if from == &q.required {
		i = len(*from) - 1
		for i >= 0 && (*from)[i].of != of {
			i--
		}
		if i < 0 {
			return // there are few masters
		}
		if of == "" {
			q.losses++
		}
	}
	if i == 0 {
		takeFirst(from)
	} else {
		*from = slices.Delete(*from, i, i+1)
	}
	q.dropped++
	q.gap++
}

func takeFirst(from *[]event) (first event) {
	first, (*from)[0] = (*from)[0], event{}
	*from = (*from)[1:]
	return first
}

// run is the loop of the goroutine that calls user code.
func (q *Queue) run() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("muxlock", "events")))
	defer close(q.ended)
	for deliver := q.next(); deliver != nil; deliver = q.next() {
		deliver()
	}
}

// next takes the oldest event, or what comes before it: the end of a warning's period, or the report of a gap. It waits
// for one, and returns nil once there will be none.
func (q *Queue) next() (deliver func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		n, losses := q.gap, q.losses
		switch {
		case q.abandoned:
			return nil
		case len(q.over) > 0:
			w := q.over[0]
			q.over = q.over[1:]
			return func() { q.warnAgain(w) }
		case n > 0 && q.logger != nil:
			q.gap, q.losses = 0, 0
			return func() { q.logger.Warn("events dropped", slog.Uint64("count", n), slog.Uint64("losses", losses)) }
		case len(q.required) > 0 && (len(q.queue) == 0 || q.required[0].seq < q.queue[0].seq):
			return takeFirst(&q.required).deliver
		case len(q.queue) > 0:
			return takeFirst(&q.queue).deliver
		case q.closed && len(q.warnings) > 0: // those that were counted
			w := q.warnings[0]
			q.warnings = q.warnings[1:]
			return func() { q.warnCounted(w) }
		case q.closed:
			return nil
		}
		q.changed.Wait()
	}
}

// Close takes no more events. It returns when all are delivered or CloseWait has passed; the goroutine then ends after
// the call that it is in.
func (q *Queue) Close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	q.closed = true
	q.changed.Signal()
	q.mu.Unlock()
	select {
	case <-q.ended:
	case <-time.After(CloseWait):
		q.mu.Lock()
		q.abandoned = true
		q.mu.Unlock()
	}
}

// Dropped returns how many events were dropped.
func (q *Queue) Dropped() uint64 {
	if q == nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}
