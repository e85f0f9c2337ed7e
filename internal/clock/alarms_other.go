//go:build !linux

package clock

import "time"

// Alarms need a timerfd; elsewhere NewAlarms returns nil.
type Alarms struct{}

// NewAlarms returns nil: the caller has Go timers only.
func NewAlarms() *Alarms { return nil }

// Sleep is never called.
func (*Alarms) Sleep(time.Duration, *Alarm, <-chan struct{}) {}

// Close is never called.
func (*Alarms) Close() {}
