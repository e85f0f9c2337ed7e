package bench

import (
	"runtime"
	"sync/atomic"
	"time"
)

// StallWatch is a thread that sleeps a period at a time and writes down how much too
// late it woke: what the machine, the scheduler and the garbage collector may take from
// a holder at any moment. The way is that of jHiccup (Gil Tene).
//
// 100 wake-ups a second cost 1 % of a core. 1000, as jHiccup has, cost ten times that in
// a Go process, whose monitor looks around every 20 us as long as a thread is in a call.
// Nothing longer than the period is missed that way; of what is shorter a sample is seen.
type StallWatch struct {
	period time.Duration
	hist   *Histogram    // owned by run until done is closed, as is the next
	cpu    time.Duration // that the thread took
	begin  time.Time
	peaks  Peaks // of whole stalls
	stop   atomic.Bool
	done   chan struct{}
}

// StallPeriod is the time that each sample of Client.Stall stands for.
const StallPeriod = 10 * time.Millisecond

// stallLeast is the shortest stall that is kept by itself: what is shorter is lost in
// what a master rounds a lease by.
const stallLeast = time.Millisecond

// WatchStalls starts the thread. End it.
func WatchStalls(period time.Duration) *StallWatch {
	s := &StallWatch{period: period, hist: NewHistogram(), begin: time.Now(), peaks: Peaks{FromNs: int64(stallLeast)}, done: make(chan struct{})}
	go s.run()
	return s
}

// End stops the thread, which takes a period at most, and returns what it saw and what
// processor time it took.
func (s *StallWatch) End() (*Histogram, time.Duration) {
	s.stop.Store(true)
	<-s.done
	return s.hist, s.cpu
}

func (s *StallWatch) run() {
	defer close(s.done)
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	sharpen()
	before := threadCPU()
	for !s.stop.Load() {
		due := time.Now().Add(s.period)
		for left := s.period; left > 0; left = time.Until(due) { // a signal may end a sleep early
			sleepThread(left)
		}
		s.add(due, time.Since(due))
	}
	s.cpu = threadCPU() - before
}

// add counts a stall, and what those would have seen of it who had wanted to wake in the
// midst of it: it kept them waiting too, though the thread could not look.
func (s *StallWatch) add(due time.Time, late time.Duration) {
	s.peaks.add(int64(due.Sub(s.begin)), int64(late))
	for ; late >= 0; late -= s.period {
		s.hist.Record(int64(late), 1)
	}
}
