package engine

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// events is the queue between the engine and user code, the Observer and the Logger. User code may take any
// time: nobody else waits for it.
//
//	calls, keeper, masters --add--> oldest ... newest --run, one goroutine--> Observer, Logger
//
// The queue is bounded: where user code falls behind, the oldest event is dropped. Events that should not be
// missed have a bound of their own: locks lost, and masters set aside or admitted again. Beyond it a loss
// replaces the last loss, and a master's event the last one of that master. A nil *events takes nothing and
// costs nothing.
type events struct {
	observer Observer     // fixed, like logger
	logger   *slog.Logger // nil: gaps are only counted
	wakeup   chan struct{}
	ended    chan struct{} // closed when run returns

	releases, renewals, bare, mended warning // owned by run

	mu        sync.Mutex // guards the following; a leaf: taken under any lock, none is taken under it
	added     uint64     // how many events so far; numbers the next one
	queue     []event    // at most eventQueue
	required  []event    // kept longer; at most eventQueue, a loss, and one event of each master
	dropped   uint64     // since New
	gap       uint64     // how many of dropped are not logged yet
	losses    uint64     // how many of gap were losses of locks
	over      []*warning // their periods are over
	closed    bool       // nothing is taken any more
	abandoned bool       // Close waits no longer: run drops the rest
}

// An event is a call that run makes, with its number.
type event struct {
	deliver func()
	seq     uint64
	master  string // whose event it is; empty: a lock's
}

const (
	eventQueue = 4096
	// closeWait is how long Close waits for the delivery of the rest.
	closeWait = time.Second
)

// newEvents returns nil if there is neither Observer nor Logger.
func newEvents(cfg *Config) *events {
	if cfg.Observer == nil && cfg.Logger == nil {
		return nil
	}
	q := &events{
		logger: cfg.Logger, wakeup: make(chan struct{}, 1), ended: make(chan struct{}),
		releases: warning{text: "release not confirmed", level: slog.LevelWarn}, renewals: warning{text: "renewal failed", level: slog.LevelWarn},
		bare: warning{text: "lock rests on a bare quorum: one more failure ends it", level: slog.LevelWarn}, mended: warning{text: "lock is on more than a quorum again"},
	}
	if cfg.Observer != nil {
		q.observer = *cfg.Observer
	}
	go q.run()
	return q
}

// add queues an event of a lock. A required one is not dropped for others that are not.
func (q *events) add(required bool, deliver func()) { q.put(required, event{deliver: deliver}) }

// log queues a line of the log.
func (q *events) log(level slog.Level, required bool, text string, attributes ...any) {
	if q != nil && q.logger != nil {
		q.add(required, func() { q.logger.Log(context.Background(), level, text, attributes...) })
	}
}

func (q *events) put(required bool, added event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.added++
	added.seq = q.added
	into := &q.queue
	if required {
		into = &q.required
	}
	if len(*into) >= eventQueue {
		q.makeRoomLocked(required, added.master)
	}
	*into = append(*into, added)
	wake(q.wakeup)
}

// makeRoomLocked drops the oldest event. Of the required ones it drops the last of the same master, or the
// last loss.
func (q *events) makeRoomLocked(required bool, master string) {
	i := 0
	if required {
		i = len(q.required) - 1
		for i >= 0 && q.required[i].master != master {
			i--
		}
	}
	switch {
	case !required:
		q.queue[0] = event{}
		q.queue = q.queue[1:]
	case i < 0:
		return // there are few masters
	default:
		q.required = slices.Delete(q.required, i, i+1)
		if master == "" {
			q.losses++
		}
	}
	q.dropped++
	q.gap++
}

// run is the loop of the goroutine that calls user code.
func (q *events) run() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("muxlock", "events")))
	defer close(q.ended)
	for {
		deliver, closed := q.next()
		switch {
		case deliver != nil:
			deliver()
		case closed:
			q.warnLast()
			return
		default:
			<-q.wakeup
		}
	}
}

// next takes the oldest event, or the report of a gap before it; nil if there is none.
func (q *events) next() (deliver func(), closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.abandoned {
		return nil, true
	}
	if len(q.over) > 0 {
		w := q.over[0]
		q.over = q.over[1:]
		return func() { q.warnAgain(w) }, false
	}
	if n, losses := q.gap, q.losses; n > 0 && q.logger != nil {
		q.gap, q.losses = 0, 0
		return func() { q.logger.Warn("events dropped", slog.Uint64("count", n), slog.Uint64("losses", losses)) }, false
	}
	from := &q.queue
	if len(q.queue) == 0 || len(q.required) > 0 && q.required[0].seq < q.queue[0].seq {
		from = &q.required
	}
	if len(*from) == 0 {
		return nil, q.closed
	}
	deliver = (*from)[0].deliver
	(*from)[0] = event{}
	*from = (*from)[1:]
	return deliver, false
}

// close takes no more events. It returns when all are delivered or closeWait has passed; the goroutine then
// ends after the call that it is in.
func (q *events) close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	wake(q.wakeup)
	select {
	case <-q.ended:
	case <-time.After(closeWait):
		q.mu.Lock()
		q.abandoned = true
		q.mu.Unlock()
	}
}

func (q *events) count() uint64 {
	if q == nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}
