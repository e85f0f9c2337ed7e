package bench

import (
	"bytes"
	"slices"
	"sync"
	"unsafe"
)

// Event is one call on a lock, as its worker saw it. Times are ns since the run began, on
// the clock that all its processes share.
type Event struct {
	Kind    string `json:"kind"` // acquired, read (acquired by a reader), refused (with Error: failed), released
	Key     string `json:"key"`
	Proc    int    `json:"proc"`   // from 0
	Worker  int    `json:"worker"` // among those of all processes, from 0
	FromNs  int64  `json:"from_ns"`
	ToNs    int64  `json:"to_ns"`
	UntilNs int64  `json:"until_ns,omitempty"` // of acquired and read: end of the validity
	Fence   uint64 `json:"fence,omitempty"`    // of acquired: fencing token; 0: none
	Overlap bool   `json:"overlap,omitempty"`  // the first acquire of its key that overlapped a hold, or whose fence did not grow
	Error   string `json:"error,omitempty"`    // the first characters
}

// Kinds of events.
const (
	EventAcquired = "acquired"
	EventRead     = "read"
	EventRefused  = "refused"
	EventReleased = "released"
)

var eventKinds = [...]string{EventAcquired, EventRead, EventRefused, EventReleased}

// Acquires reports whether a hold begins with e.
func (e Event) Acquires() bool { return e.Kind == EventAcquired || e.Kind == EventRead }

// record is an Event in the table of a run. It has no pointers, so that other processes can
// read it.
type record struct {
	kind, worker    int64 // kind: index in eventKinds
	from, to, until int64
	fence           uint64
	error           [96]byte
}

// ringState is what a ring needs beside its records.
type ringState struct {
	count int64 // of all events so far
	after int64 // of those, since the violation
	holds int64 // that began
}

const (
	recordWords = int(unsafe.Sizeof(record{}) / 8)
	ringWords   = int(unsafe.Sizeof(ringState{}) / 8)
)

// history keeps the latest events of each name, to show the events around a violation: an
// overlap, or a fence that did not grow. Soon after the first violation of a name, the
// rings of that name are frozen in all processes. A nil history keeps nothing. A process
// that takes the place of a killed one goes on with its rings.
type history struct {
	*table
	names []string
	proc  int
	locks []sync.Mutex // each guards the ring of a name
}

// newHistory makes a history of the latest events of each name; nil when the table has no
// room for any.
func newHistory(t *table, names []string, proc int) *history {
	if t.events == 0 {
		return nil
	}
	return &history{table: t, names: names, proc: proc, locks: make([]sync.Mutex, len(names))}
}

// add keeps an event. Once a quarter of the ring is newer than the violation of its name,
// add drops it: the rest is for the events that led to the violation.
func (h *history) add(key int, e Event) {
	h.locks[key].Lock()
	defer h.locks[key].Unlock()
	ring, records := h.ring(h.proc, key)
	if e.Acquires() {
		ring.holds++
	}
	if h.firstViolation(key).Load() != 0 {
		if ring.after == int64(len(records)/4) {
			return
		}
		ring.after++
	}
	r := record{
		kind: int64(slices.Index(eventKinds[:], e.Kind)), worker: int64(e.Worker),
		from: e.FromNs, to: e.ToNs, until: e.UntilNs, fence: e.Fence,
	}
	copy(r.error[:], e.Error)
	records[ring.count%int64(len(records))] = r
	ring.count++
}

// holds returns how many holds the process, and those whose place it took, began.
func (h *history) holds() (n int64) {
	if h == nil {
		return 0
	}
	for key := range h.names {
		ring, _ := h.ring(h.proc, key)
		n += ring.holds
	}
	return n
}

// violations returns the events of all names with a violation.
func (h *history) violations() (events []Event) {
	if h == nil {
		return nil
	}
	for key, name := range h.names {
		first := h.firstViolation(key).Load()
		if first == 0 {
			continue
		}
		ring, records := h.ring(h.proc, key)
		for _, r := range records[:min(ring.count, int64(len(records)))] {
			e := Event{
				Kind: eventKinds[r.kind], Key: name, Proc: h.proc, Worker: int(r.worker),
				FromNs: r.from, ToNs: r.to, UntilNs: r.until, Fence: r.fence,
				Error: string(bytes.TrimRight(r.error[:], "\x00")),
			}
			e.Overlap = e.Acquires() && r.to+1 == first
			events = append(events, e)
		}
	}
	return events
}
