//go:build !linux

package bench

import "time"

// sleeper waits for the next arrival with a Go timer, to about 1 ms on an idle
// machine. One goroutine at a time may use it.
type sleeper struct {
	stop  <-chan struct{}
	timer *time.Timer
}

// newSleeper makes a sleeper whose naps end early when stop is closed.
func newSleeper(stop <-chan struct{}, _ bool) *sleeper {
	return &sleeper{stop: stop, timer: newStoppedTimer()}
}

// nap sleeps about ns: who calls looks at the clock again.
func (s *sleeper) nap(ns int64) { pause(s.timer, time.Duration(ns), s.stop) }

func (s *sleeper) close() {}
