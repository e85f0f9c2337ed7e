//go:build !linux

package clock

import "time"

// Alarms need a timerfd.
type Alarms struct{}

// NewAlarms returns nil, which sleeps by Go timers.
func NewAlarms() *Alarms { return nil }

func (*Alarms) set(time.Duration, *Alarm) {}

func (*Alarms) unset(*Alarm) {}

// Close does nothing.
func (*Alarms) Close() {}
