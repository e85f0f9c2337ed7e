package rolling

import (
	"sync"
	"time"
)

// A stall is a time in which this process did not run, although it wanted to: the machine was busy.
type stall struct {
	end  time.Time
	took time.Duration
}

// stalls are those of a watch.
var stalls struct {
	sync.Mutex // guards all
	all        []stall
}

const (
	leastStall = 20 * time.Millisecond  // is what a busy machine keeps a process waiting now and then
	mayLose    = 200 * time.Millisecond // as long may a master take: if several take longer, no lock can be kept
)

// watchStalls notes stalls until done is closed.
func watchStalls(done <-chan struct{}) {
	for last := time.Now(); ; {
		select {
		case <-done:
			return
		case <-time.After(pollEvery):
		}
		now := time.Now()
		if took := now.Sub(last); took > leastStall {
			stalls.Lock()
			stalls.all = append(stalls.all, stall{now, took})
			stalls.Unlock()
		}
		last = now
	}
}

// stalledSince returns the longest stall since then.
func stalledSince(then time.Time) (longest time.Duration) {
	stalls.Lock()
	defer stalls.Unlock()
	for i := len(stalls.all) - 1; i >= 0 && stalls.all[i].end.After(then); i-- {
		longest = max(longest, stalls.all[i].took)
	}
	return longest
}
