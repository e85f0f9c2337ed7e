package turn

// First returns the waiter who is next; nil: nobody waits.
func (q *Queue[L, P]) First() *Waiter[P] { return q.first }

// Waiting yields the waiters in their order.
func (q *Queue[L, P]) Waiting(yield func(*Waiter[P]) bool) {
	for w := q.first; w != nil && yield(w); w = w.next {
	}
}

// Wait puts a waiter at the end of the queue.
func (q *Queue[L, P]) Wait(w *Waiter[P]) {
	w.queued, w.prev = true, q.last
	if q.last = w; w.prev == nil {
		q.first = w
	} else {
		w.prev.next = w
	}
}

// WaitFirst puts a waiter in front of the others: the caller who asks, so that it may be handed a permit while it waits.
func (q *Queue[L, P]) WaitFirst(w *Waiter[P]) {
	w.queued, w.next = true, q.first
	if q.first = w; w.next == nil {
		q.last = w
	} else {
		w.next.prev = w
	}
}

// Pop takes the first waiter out of the queue; nil: nobody waits.
func (q *Queue[L, P]) Pop() *Waiter[P] {
	w := q.first
	if w != nil {
		q.Leave(w)
	}
	return w
}

// Leave takes a waiter out of the queue. It reports false if the waiter has left already.
func (q *Queue[L, P]) Leave(w *Waiter[P]) bool {
	if !w.queued {
		return false
	}
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	return true
}

// Enter counts a caller who wants one of limit permits. It reports whether the caller must wait: others do, or as many ask
// as there are permits.
func (q *Queue[L, P]) Enter(limit int) (waits bool) {
	q.beside++
	return !q.Idle() || q.beside > limit
}

// Exit ends Enter: the caller holds a permit, or has given up.
func (q *Queue[L, P]) Exit() { q.beside-- }
