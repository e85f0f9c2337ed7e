//go:build !linux

package clock

import "time"

// Alarms need a timerfd, which only Linux has.
type Alarms struct{}

// NewAlarms returns nil. Nil Alarms sleep by Go timers.
func NewAlarms() *Alarms { return nil }

func (*Alarms) arm(time.Duration, *Alarm) {}

func (*Alarms) disarm(*Alarm) {}

// Close does nothing.
func (*Alarms) Close() {}

// Boottime returns 0: this system has no such clock, or it cannot be read without cgo. The package comment says what
// that means.
func Boottime() int64 { return 0 }

func bootID() string { return "" }

// Nap sleeps for about d.
func Nap(d time.Duration) { time.Sleep(d) }

func sharpen() {}

// sleepThread is as exact as Go timers are.
func sleepThread(d time.Duration) { time.Sleep(d) }
