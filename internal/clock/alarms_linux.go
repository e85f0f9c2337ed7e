package clock

import (
	"container/heap"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Alarms wake any number of sleepers more exactly than Go timers. An idle process rounds Go timers up by as much as
// 1 ms: sleeps drawn from an exponential distribution with a mean of 1 ms would take 1.6 ms on average. One timerfd in
// the network poller and one goroutine serve all sleepers. No thread waits, as it would in Nap.
type Alarms struct {
	file    *os.File // owns the timerfd
	fd      int
	wait    syscall.RawConn
	running sync.WaitGroup

	mu     sync.Mutex // guards the following
	heap   alarmHeap
	closed bool
}

// NewAlarms returns Alarms for the caller to close. It returns nil, which sleeps by Go timers, in a synctest bubble and
// where there is no timerfd.
func NewAlarms() *Alarms {
	if inBubble() {
		return nil
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	a := &Alarms{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
	if a.wait, err = a.file.SyscallConn(); err != nil {
		a.file.Close()
		return nil
	}
	a.running.Go(a.run)
	return a
}

// run rings the alarms that are due, until Close.
func (a *Alarms) run() {
	var expirations [8]byte
	fired := func(fd uintptr) bool {
		_, err := unix.Read(int(fd), expirations[:])
		return err != unix.EAGAIN
	}
	for a.wait.Read(fired) == nil {
		a.mu.Lock()
		now := time.Now()
		for len(a.heap) > 0 && !now.Before(a.heap[0].at) {
			heap.Pop(&a.heap).(*Alarm).ring <- struct{}{}
		}
		a.armFirstLocked(now)
		a.mu.Unlock()
	}
}

// arm makes one ring after d.
func (a *Alarms) arm(d time.Duration, one *Alarm) {
	now := time.Now()
	one.at = now.Add(d)
	a.mu.Lock()
	defer a.mu.Unlock()
	heap.Push(&a.heap, one)
	if a.heap[0] == one {
		a.armFirstLocked(now)
	}
}

// disarm takes one out of the heap, whether it has rung or not.
func (a *Alarms) disarm(one *Alarm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one.index >= 0 {
		heap.Remove(&a.heap, one.index)
	}
	select {
	case <-one.ring:
	default:
	}
}

// armFirstLocked arms the timerfd for the first alarm.
func (a *Alarms) armFirstLocked(now time.Time) {
	if len(a.heap) > 0 && !a.closed {
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, int64(a.heap[0].at.Sub(now))))}
		_ = unix.TimerfdSettime(a.fd, 0, &spec, nil) // cannot fail on an open timerfd
	}
}

// Close ends the goroutine. Do not call Sleep afterwards.
func (a *Alarms) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.closed = true
	a.file.Close()
	a.mu.Unlock()
	a.running.Wait()
}

type alarmHeap []*Alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *alarmHeap) Push(x any) {
	one := x.(*Alarm)
	one.index = len(*h)
	*h = append(*h, one)
}
func (h *alarmHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h, last.index = old[:len(old)-1], -1
	return last
}
