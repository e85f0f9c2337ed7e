//go:build !linux

package bench

import "time"

// alarms need a timerfd; elsewhere workers sleep by Go timers.
type alarms struct{}

func newAlarms() *alarms { return nil }

func (*alarms) sleep(time.Duration, *alarm, <-chan struct{}) {}
func (*alarms) close()                                       {}
