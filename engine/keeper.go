package engine

import (
	"container/heap"
	"context"
	"runtime/pprof"
	"sync"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline"
)

// A keeper serves all leases that are kept alive, awaited, or whose Done or Context is used. It has one
// goroutine, one timer and one heap for all of them. It gives renewals that are due at about the same time to
// the pipeline together, so they share rounds.
type keeper struct {
	e      *Engine
	wakeup chan struct{} // capacity 1: the heap's top or answers have changed

	mu      sync.Mutex // guards the following; taken under a shard's mutex, never the other way
	leases  leaseHeap
	answers []answer
	eroded  map[*lease]*erosion

	// The following are owned by run.
	sends []*lease   // renewals to be sent
	heals []*erosion // heals to be sent
	votes uint64     // pipe.Voted at the last check
}

// An answer is the outcome of a renewal or an extension, or err if the masters were not asked; or the count of an extend or heal.
type answer struct {
	l     *lease
	x     *extension // nil: of a renewal
	out   pipeline.Outcome
	err   error
	count *count
}

// gather is how long before its time a lease may be served along with others.
const gather = 5 * time.Millisecond

// longestSleep bounds a sleep of the keeper while it has leases. Its timer stands still in a suspend, so what
// was due meanwhile is served at most that much later.
const longestSleep = time.Second

func (k *keeper) init(e *Engine) {
	k.e, k.wakeup, k.eroded = e, make(chan struct{}, 1), make(map[*lease]*erosion)
}

func (k *keeper) run(closing <-chan struct{}) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("muxlock", "keeper")))
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var due []*lease
	var answers, spare []answer
	for {
		now := clock.Now()
		k.mu.Lock()
		answers, k.answers = k.answers, spare[:0]
		due = k.dueLocked(due[:0], now)
		if len(k.leases) > 0 {
			timer.Reset(k.sleepLocked(now))
		}
		k.mu.Unlock()
		for _, a := range answers {
			if a.count != nil {
				k.takeCount(*a.count, now)
			} else {
				a.l.takeOutcome(a, now)
			}
		}
		clear(answers)
		spare = answers
		k.checkVotes(now)
		for _, l := range due {
			l.onDue(now)
		}
		clear(due)
		k.flush()
		select {
		case <-timer.C:
		case <-k.wakeup:
		case <-closing:
			return
		}
	}
}

// dueLocked takes the leases off the heap: all within gather of being due, once the first is due.
func (k *keeper) dueLocked(due []*lease, now clock.Instant) []*lease {
	if len(k.leases) == 0 || !k.leases[0].due.Reached(now) {
		return due
	}
	for len(k.leases) > 0 && k.leases[0].due.Left(now) < gather { // by either clock, as Reached: else run would spin
		due = append(due, heap.Pop(&k.leases).(*lease))
	}
	return due
}

// sleepLocked returns for how long the keeper has nothing to do. The heap must not be empty.
func (k *keeper) sleepLocked(now clock.Instant) time.Duration {
	longest := longestSleep
	if len(k.eroded) > 0 {
		longest = votesPeriod
	}
	return min(max(0, k.leases[0].due.Left(now)), longest)
}

// send queues a renewal, which flush sends along with the others that are due.
func (k *keeper) send(l *lease) { k.sends = append(k.sends, l) }

func (k *keeper) flush() {
	for i, l := range k.sends {
		k.sends[i] = nil
		l.state.shard.mu.Lock()
		req := l.extendLocked(l.renewal.requested)
		l.state.shard.unlock()
		if err := k.e.masters.at(req.Name).Start(req, l); err != nil {
			k.answer(answer{l: l, err: err})
		}
	}
	k.sends = k.sends[:0]
	k.sendHeals()
}

// answer queues the outcome for run. The pipeline calls it with its locks held.
func (k *keeper) answer(a answer) {
	k.mu.Lock()
	k.answers = append(k.answers, a)
	k.mu.Unlock()
	wake(k.wakeup)
}

// schedule makes run call onDue no later than at.
func (k *keeper) schedule(l *lease, at clock.Instant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case l.index == 0:
		l.due = at
		heap.Push(&k.leases, l)
	case at.Before(l.due):
		l.due = at
		heap.Fix(&k.leases, l.index-1)
	default:
		return
	}
	if l.index == 1 {
		wake(k.wakeup)
	}
}

func (k *keeper) unschedule(l *lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.index != 0 {
		heap.Remove(&k.leases, l.index-1)
	}
	k.healedLocked(l)
}

// wake signals c, which has capacity 1.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signalled already
	}
}

// A leaseHeap has the lease that is due first on top.
type leaseHeap []*lease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}
func (h *leaseHeap) Push(x any) {
	l := x.(*lease)
	*h = append(*h, l)
	l.index = len(*h)
}
func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	l.index = 0
	return l
}
