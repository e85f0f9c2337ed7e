package bench

import "sync"

// Event is one call on a lock, as its worker saw it. Times are ns since the begin of
// the run, on the clock that all its processes share.
type Event struct {
	Kind    string `json:"kind"` // acquired, refused (with Error: failed), released
	Key     string `json:"key"`
	Proc    int    `json:"proc"`   // from 0
	Worker  int    `json:"worker"` // among those of all processes, from 0
	FromNs  int64  `json:"from_ns"`
	ToNs    int64  `json:"to_ns"`
	UntilNs int64  `json:"until_ns,omitempty"` // end of the validity of what was acquired
	Fence   uint64 `json:"fence,omitempty"`    // of what was acquired; 0: none
	Overlap bool   `json:"overlap,omitempty"`  // the first of its key that another's hold, or its fence, was in the way of
	Error   string `json:"error,omitempty"`
}

// Kinds of events.
const (
	EventAcquired = "acquired"
	EventRefused  = "refused"
	EventReleased = "released"
)

// history keeps the latest events of each name, so that those around an overlap can
// be shown, or around a fence that did not grow. The first of a name, in whichever process,
// freezes its rings soon after. A nil history has kept nothing.
type history struct {
	*table
	names []string
	proc  int
	rings []ring
}

type ring struct {
	mu     sync.Mutex // guards the following
	events []Event
	next   int // the oldest, once all places are taken
	after  int // events taken since the violation
}

// newHistory keeps the latest n events of each name; 0 is none, and a nil history.
func newHistory(t *table, names []string, proc, n int) *history {
	if n == 0 {
		return nil
	}
	h := &history{table: t, names: names, proc: proc, rings: make([]ring, len(names))}
	for i := range h.rings {
		h.rings[i].events = make([]Event, 0, n)
	}
	return h
}

// add notes an event, unless a violation of its name lies so far back that the place is
// needed for what led to it.
func (h *history) add(key int, e Event) {
	e.Key, e.Proc = h.names[key], h.proc
	r := &h.rings[key]
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.firstViolation(key).Load() != 0 {
		if r.after == cap(r.events)/4 {
			return
		}
		r.after++
	}
	if len(r.events) < cap(r.events) {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % len(r.events)
}

// violations is the events of the names that have one.
func (h *history) violations() (events []Event) {
	if h == nil {
		return nil
	}
	for key := range h.rings {
		first := h.firstViolation(key).Load()
		if first == 0 {
			continue
		}
		for _, e := range h.rings[key].events {
			e.Overlap = e.Kind == EventAcquired && e.ToNs+1 == first
			events = append(events, e)
		}
	}
	return events
}
