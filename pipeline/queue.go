package pipeline

// A queue holds the calls that wait for a round, in three classes: releases, then extends and heals, then
// acquires. Each is in order of arrival. It is pure bookkeeping, guarded by Pipeline.mu.
//
// A round takes the classes in that order. A release makes room for others, and a live lease comes
// before a new one. Every waiting class gets a share: a full round keeps one part in keptPart for
// each later class.
type queue struct{ classes [classes]callList }

const (
	classes  = 3
	keptPart = 8
)

// classOf returns the class of a request.
func classOf(q *Request) int {
	switch {
	case q.Op.Ends():
		return 0
	case q.IsNew():
		return 2
	}
	return 1
}

// A callList is linked through its calls, so that a call can be taken out of the middle.
type callList struct {
	first, last *call
	n           int
}

func (q *queue) push(c *call) {
	l := &q.classes[classOf(&c.req)]
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
	l := &q.classes[classOf(&c.req)]
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

// len returns how many calls wait.
func (q *queue) len() (n int) {
	for i := range q.classes {
		n += q.classes[i].n
	}
	return n
}

// shares returns how many calls of each class a round of at most most takes.
func (q *queue) shares(most int) (shares [classes]int) {
	part, room := most/keptPart, most
	for i := range q.classes {
		share := room
		for _, later := range q.classes[i+1:] {
			share -= min(later.n, part)
		}
		shares[i] = min(q.classes[i].n, share)
		room -= shares[i]
	}
	return shares
}
