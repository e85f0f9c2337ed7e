package pipeline

// A queue holds the calls that wait for a round, by class: releases, then extends, then
// acquires; in order of arrival within each. It is pure bookkeeping, guarded by
// Pipeline.mu.
//
// A round takes the classes in that order: a release makes room for others, and a lease
// that lives comes before one that does not yet. A class that waits never gets nothing:
// of a full round, one part in keptPart is kept for each class that comes later.
type queue struct{ classes [classes]callList }

const (
	classes  = 3
	keptPart = 8
)

// classOf is where an operation stands in line.
func classOf(o Op) int { return [...]int{Release: 0, Extend: 1, Acquire: 2}[o] }

// A callList is linked through them, so that one whose caller
// has left can be taken out of the middle.
type callList struct {
	first, last *call
	n           int
}

func (q *queue) push(c *call) {
	l := &q.classes[classOf(c.req.Op)]
	c.queued = true
	if c.prev = l.last; c.prev == nil {
		l.first = c
	} else {
		c.prev.next = c
	}
	l.last = c
	l.n++
}

func (q *queue) remove(c *call) {
	l := &q.classes[classOf(c.req.Op)]
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next, c.queued = nil, nil, false
	l.n--
}

// waiting returns how many calls wait.
func (q *queue) waiting() (n int) {
	for i := range q.classes {
		n += q.classes[i].n
	}
	return n
}

// shares returns how many calls of each class a round of at most most takes.
func (q *queue) shares(most int) (shares [classes]int) {
	part, left := most/keptPart, most
	for i := range q.classes {
		room := left
		for _, later := range q.classes[i+1:] {
			room -= min(later.n, part)
		}
		shares[i] = min(q.classes[i].n, room)
		left -= shares[i]
	}
	return shares
}
