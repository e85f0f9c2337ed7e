package bench

import (
	"runtime"
	"time"

	"muxlock/internal/clock"
)

// stallWatch is a thread that sleeps a period at a time and records how late it woke. It
// shows what the machine, the scheduler and the garbage collector may take from a holder.
type stallWatch struct {
	period time.Duration
	hist   *Histogram    // owned by the thread until done is closed, as are cpu and peaks
	cpu    time.Duration // of the thread
	begin  clock.Instant // of the measured time
	peaks  Peaks         // whole stalls
	done   chan struct{}
}

// stallPeriod is the time that each sample of Client.Stall stands for. The processes of a run
// take them in turn: a thread of each that woke as often would take half a core for 60.
const stallPeriod = 10 * time.Millisecond

// stallLeast is the shortest stall among the peaks. A master rounds a lease by as much.
const stallLeast = time.Millisecond

// watchStalls starts the thread of one of so many processes, some time after the measured time began. The thread ends within
// one period after stop.
func watchStalls(procs int, after time.Duration, stop <-chan struct{}) *stallWatch {
	s := &stallWatch{
		period: min(stallPeriod*time.Duration(procs), time.Second), hist: NewHistogram(), begin: clock.Now().Add(-after), peaks: Peaks{FromNs: int64(stallLeast)},
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // threadCPU is of this thread
		before := threadCPU()
		clock.WatchStalls(s.period, stop, s.add)
		s.cpu = threadCPU() - before
	}()
	return s
}

// add counts a stall once for each period in it. The thread could not wake there, but a
// holder that had to would have waited for the rest of the stall.
func (s *stallWatch) add(due clock.Instant, late time.Duration) {
	s.peaks.add(int64(due.Sub(s.begin)), int64(late))
	for ; late >= 0; late -= s.period {
		s.hist.Record(int64(late), 1)
	}
}
