package engine

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"time"
)

// events is the queue between the engine and user code, the Observer and the Logger. They may
// take any time, and nobody else waits for them.
//
//	calls, keeper, masters --add--> oldest ... newest --run, one goroutine--> Observer, Logger
//
// It is bounded: where user code falls behind, the oldest event is dropped, except of those
// that must not be missed, which are few: locks lost, and masters set aside or admitted again.
// A nil *events takes nothing and costs nothing.
type events struct {
	observer Observer     // fixed, like logger
	logger   *slog.Logger // nil: gaps are only counted
	wakeup   chan struct{}
	ended    chan struct{} // closed when run returns

	releases, renewals warning // owned by run

	mu        sync.Mutex // guards the following; a leaf: taken under any lock, none is taken under it
	added     uint64     // number of events so far; the order of delivery
	queue     []event    // may be dropped; at most eventQueue
	required  []event    // must not
	dropped   uint64     // since New
	gap       uint64     // of those: not logged yet
	closed    bool       // nothing is taken any more
	abandoned bool       // Close waits no longer: what is queued is not delivered
}

// An event is what run calls, and its number.
type event struct {
	deliver func()
	seq     uint64
}

const (
	eventQueue = 4096
	// closeWait is how long Close waits until the rest is delivered.
	closeWait = time.Second
)

// newEvents returns nil if there is neither Observer nor Logger.
func newEvents(cfg *Config) *events {
	if cfg.Observer == nil && cfg.Logger == nil {
		return nil
	}
	q := &events{
		logger: cfg.Logger, wakeup: make(chan struct{}, 1), ended: make(chan struct{}),
		releases: warning{text: "release not confirmed"}, renewals: warning{text: "renewal failed"},
	}
	if cfg.Observer != nil {
		q.observer = *cfg.Observer
	}
	go q.run()
	return q
}

// add queues an event; one that is required is never dropped.
func (q *events) add(required bool, deliver func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.added++
	added := event{deliver, q.added}
	switch {
	case required:
		q.required = append(q.required, added)
	default:
		if len(q.queue) == eventQueue {
			q.queue[0] = event{}
			q.queue = q.queue[1:]
			q.dropped++
			q.gap++
		}
		q.queue = append(q.queue, added)
	}
	select {
	case q.wakeup <- struct{}{}:
	default: // run is on its way already
	}
}

// run is the goroutine of user code.
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

// next takes the oldest event, or a gap before it; nil if there is none.
func (q *events) next() (deliver func(), closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.abandoned {
		return nil, true
	}
	if n := q.gap; n > 0 && q.logger != nil {
		q.gap = 0
		return func() { q.logger.Warn("events dropped", slog.Uint64("count", n)) }, false
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

// close takes no more events, and returns when all are delivered or closeWait has passed; the
// goroutine then ends with the call that it is in.
func (q *events) close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	select {
	case q.wakeup <- struct{}{}:
	default:
	}
	patience := time.NewTimer(closeWait)
	defer patience.Stop()
	select {
	case <-q.ended:
	case <-patience.C:
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
