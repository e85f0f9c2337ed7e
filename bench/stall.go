package bench

import (
	"runtime"
	"time"

	"muxlock/internal/clock"
)

// stallWatch is a thread that sleeps stallPeriod at a time and records how late it woke. It
// shows what the machine, the scheduler and the garbage collector may take from a holder.
type stallWatch struct {
	hist  *Histogram    // owned by run until done is closed, as are cpu and peaks
	cpu   time.Duration // of the thread
	begin clock.Instant
	peaks Peaks // whole stalls
	stop  chan struct{}
	done  chan struct{}
}

// stallPeriod is the time that each sample of Client.Stall stands for.
const stallPeriod = 10 * time.Millisecond

// stallLeast is the shortest stall among the peaks. A master rounds a lease by as much.
const stallLeast = time.Millisecond

// watchStalls starts the thread. The caller must call end.
func watchStalls() *stallWatch {
	s := &stallWatch{
		hist: NewHistogram(), begin: clock.Now(), peaks: Peaks{FromNs: int64(stallLeast)},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s
}

// end stops the thread, within one period. It returns the stalls and the thread's processor
// time. It is called once.
func (s *stallWatch) end() (*Histogram, time.Duration) {
	close(s.stop)
	<-s.done
	return s.hist, s.cpu
}

func (s *stallWatch) run() {
	defer close(s.done)
	runtime.LockOSThread() // threadCPU is of this thread
	before := threadCPU()
	clock.WatchStalls(stallPeriod, s.stop, s.add)
	s.cpu = threadCPU() - before
}

// add counts a stall once for each period in it. The thread could not wake there, but a
// holder that had to would have waited for the rest of the stall.
func (s *stallWatch) add(due clock.Instant, late time.Duration) {
	s.peaks.add(int64(due.Sub(s.begin)), int64(late))
	for ; late >= 0; late -= stallPeriod {
		s.hist.Record(int64(late), 1)
	}
}
