package bench

import (
	"runtime"
	"time"

	"muxlock/internal/clock"
)

// StallWatch is a thread that sleeps a period at a time and writes down how much too
// late it woke: what the machine, the scheduler and the garbage collector may take from
// a holder at any moment.
type StallWatch struct {
	period time.Duration
	hist   *Histogram    // owned by run until done is closed, as is the next
	cpu    time.Duration // that the thread took
	begin  clock.Instant
	peaks  Peaks // of whole stalls
	stop   chan struct{}
	done   chan struct{}
}

// StallPeriod is the time that each sample of Client.Stall stands for.
const StallPeriod = 10 * time.Millisecond

// stallLeast is the shortest stall that is kept by itself: what is shorter is lost in
// what a master rounds a lease by.
const stallLeast = time.Millisecond

// WatchStalls starts the thread. End it.
func WatchStalls(period time.Duration) *StallWatch {
	s := &StallWatch{
		period: period, hist: NewHistogram(), begin: clock.Now(), peaks: Peaks{FromNs: int64(stallLeast)},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s
}

// End stops the thread, which takes a period at most, and returns what it saw and what
// processor time it took. It is called once.
func (s *StallWatch) End() (*Histogram, time.Duration) {
	close(s.stop)
	<-s.done
	return s.hist, s.cpu
}

func (s *StallWatch) run() {
	defer close(s.done)
	runtime.LockOSThread() // whose time is looked at
	before := threadCPU()
	clock.WatchStalls(s.period, s.stop, s.add)
	s.cpu = threadCPU() - before
}

// add counts a stall, and what those would have seen of it who had wanted to wake in the
// midst of it: it kept them waiting too, though the thread could not look.
func (s *StallWatch) add(due clock.Instant, late time.Duration) {
	s.peaks.add(int64(due.Sub(s.begin)), int64(late))
	for ; late >= 0; late -= s.period {
		s.hist.Record(int64(late), 1)
	}
}
