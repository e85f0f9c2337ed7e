package engine

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"time"
)

// events is the queue between what happens and the user's code that is told of it: the
// Observer and the Logger may take any time, and nobody else waits for them.
//
//	calls, keeper, masters --add--> oldest ... newest --run, one goroutine--> Observer, Logger
//
// It is bounded: where the user's code falls behind, the oldest event is dropped, except
// of those that must not be missed, which are as few as the locks that are lost and the
// masters that come and go. A nil *events takes nothing and costs nothing.
type events struct {
	observer Observer     // fixed, like logger
	logger   *slog.Logger // nil: gaps are only counted
	poke     chan struct{}
	ended    chan struct{} // closed when run returns

	mu      sync.Mutex // guards the following; a leaf: taken under any lock, none is taken under it
	added   uint64     // in order of which they are told
	queue   []event    // may be dropped; at most eventQueue
	musts   []event    // must not
	dropped uint64     // since New
	gap     uint64     // of those: not logged yet
	closed  bool       // nothing is taken any more
	left    bool       // Close waits no longer: what is queued is not told
}

// An event is what run is to call, and its place in the order.
type event struct {
	tell func()
	seq  uint64
}

const (
	eventQueue = 4096
	// lastWords is how long Close waits for the user's code to be told the rest.
	lastWords = time.Second
)

// newEvents returns nil if nobody is to be told.
func newEvents(cfg *Config) *events {
	if cfg.Observer == nil && cfg.Logger == nil {
		return nil
	}
	q := &events{logger: cfg.Logger, poke: make(chan struct{}, 1), ended: make(chan struct{})}
	if cfg.Observer != nil {
		q.observer = *cfg.Observer
	}
	go q.run()
	return q
}

// add queues an event; one that must be told is never dropped.
func (q *events) add(must bool, tell func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.added++
	one := event{tell, q.added}
	switch {
	case must:
		q.musts = append(q.musts, one)
	default:
		if len(q.queue) == eventQueue {
			q.queue[0] = event{}
			q.queue = q.queue[1:]
			q.dropped++
			q.gap++
		}
		q.queue = append(q.queue, one)
	}
	select {
	case q.poke <- struct{}{}:
	default: // run is on its way already
	}
}

// run is the goroutine of the user's code.
func (q *events) run() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("muxlock", "events")))
	defer close(q.ended)
	for {
		tell, closed := q.next()
		switch {
		case tell != nil:
			tell()
		case closed:
			return
		default:
			<-q.poke
		}
	}
}

// next takes the oldest event, or a gap before it; nil if there is none.
func (q *events) next() (tell func(), closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left {
		return nil, true
	}
	if n := q.gap; n > 0 && q.logger != nil {
		q.gap = 0
		return func() { q.logger.Warn("events dropped", slog.Uint64("count", n)) }, false
	}
	from := &q.queue
	if len(q.queue) == 0 || len(q.musts) > 0 && q.musts[0].seq < q.queue[0].seq {
		from = &q.musts
	}
	if len(*from) == 0 {
		return nil, q.closed
	}
	tell = (*from)[0].tell
	(*from)[0] = event{}
	*from = (*from)[1:]
	return tell, false
}

// close takes no more events, and returns when all are told or lastWords have passed; the
// goroutine then ends with the call that it is in.
func (q *events) close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	select {
	case q.poke <- struct{}{}:
	default:
	}
	patience := time.NewTimer(lastWords)
	defer patience.Stop()
	select {
	case <-q.ended:
	case <-patience.C:
		q.mu.Lock()
		q.left = true
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
