package bench

import (
	"runtime"
	"time"

	"muxlock/internal/clock"
)

// stallWatch is a thread that sleeps stallPeriod at a time and writes down how much too
// late it woke: what the machine, the scheduler and the garbage collector may take from
// a holder at any moment.
type stallWatch struct {
	hist  *Histogram    // owned by run until done is closed, as is the next
	cpu   time.Duration // that the thread took
	begin clock.Instant
	peaks Peaks // of whole stalls
	stop  chan struct{}
	done  chan struct{}
}

// stallPeriod is the time that each sample of Client.Stall stands for.
const stallPeriod = 10 * time.Millisecond

// stallLeast is the shortest stall that is kept by itself: what is shorter is lost in
// what a master rounds a lease by.
const stallLeast = time.Millisecond

// watchStalls starts the thread. It has to be ended.
func watchStalls() *stallWatch {
	s := &stallWatch{
		hist: NewHistogram(), begin: clock.Now(), peaks: Peaks{FromNs: int64(stallLeast)},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s
}

// end stops the thread, which takes a period at most, and returns what it saw and what
// processor time it took. It is called once.
func (s *stallWatch) end() (*Histogram, time.Duration) {
	close(s.stop)
	<-s.done
	return s.hist, s.cpu
}

func (s *stallWatch) run() {
	defer close(s.done)
	runtime.LockOSThread() // whose time is looked at
	before := threadCPU()
	clock.WatchStalls(stallPeriod, s.stop, s.add)
	s.cpu = threadCPU() - before
}

// add counts a stall, and what those would have seen of it who had wanted to wake in the
// midst of it: it kept them waiting too, though the thread could not look.
func (s *stallWatch) add(due clock.Instant, late time.Duration) {
	s.peaks.add(int64(due.Sub(s.begin)), int64(late))
	for ; late >= 0; late -= stallPeriod {
		s.hist.Record(int64(late), 1)
	}
}
