package validation

import (
	"runtime"
	"sync"
	"time"

	"muxlock/bench"
	"muxlock/internal/clock"
)

// stalls watches how long the machine stands still for one thread: by how much a sleep
// of 1 ms takes longer.
type stalls struct {
	end  chan struct{}
	over sync.WaitGroup
	late *bench.Histogram // owned by the goroutine until it is over
}

const stallSleep = time.Millisecond

func watchStalls() *stalls {
	s := &stalls{end: make(chan struct{}), late: bench.NewHistogram()}
	s.over.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case <-s.end:
				return
			default:
			}
			begin := time.Now()
			clock.Nap(stallSleep)
			s.late.Record(int64(time.Since(begin)-stallSleep), 1)
		}
	})
	return s
}

// stop returns the p99.
func (s *stalls) stop() int64 {
	close(s.end)
	s.over.Wait()
	return s.late.Summary().P["99"]
}
