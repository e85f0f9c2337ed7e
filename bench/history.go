package bench

import "sync"

// Event is one call on a lock, as its worker saw it. Times are ns since the run began, on
// the clock that all its processes share.
type Event struct {
	Kind    string `json:"kind"` // acquired, refused (with Error: failed), released
	Key     string `json:"key"`
	Proc    int    `json:"proc"`   // from 0
	Worker  int    `json:"worker"` // among those of all processes, from 0
	FromNs  int64  `json:"from_ns"`
	ToNs    int64  `json:"to_ns"`
	UntilNs int64  `json:"until_ns,omitempty"` // of acquired: end of the validity
	Fence   uint64 `json:"fence,omitempty"`    // of acquired: fencing token; 0: none
	Overlap bool   `json:"overlap,omitempty"`  // the first acquire of its key that overlapped a hold, or whose fence did not grow
	Error   string `json:"error,omitempty"`
}

// Kinds of events.
const (
	EventAcquired = "acquired"
	EventRefused  = "refused"
	EventReleased = "released"
)

// history keeps the latest events of each name, to show the events around a violation: an
// overlap, or a fence that did not grow. Soon after the first violation of a name, the
// rings of that name are frozen in all processes. A nil history keeps nothing.
type history struct {
	*table
	names []string
	proc  int
	rings []ring
}

type ring struct {
	mu     sync.Mutex // guards the following
	events []Event
	next   int // the oldest event, once events is full
	after  int // events since the violation
}

// newHistory makes a history of the latest n events of each name; nil when n is 0.
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

// add keeps an event. Once a quarter of the ring is newer than the violation of its name,
// add drops it: the rest is for the events that led to the violation.
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

// violations returns the events of all names with a violation.
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
