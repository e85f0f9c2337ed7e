package clock

import "time"

// Alarm is one sleeper's, used again and again.
type Alarm struct {
	at    time.Time
	ring  chan struct{} // capacity 1
	timer *time.Timer   // for Alarms that are nil
}

// NewAlarm returns one that no Alarms knows yet.
func NewAlarm() *Alarm {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &Alarm{ring: make(chan struct{}, 1), timer: timer}
}

// Sleep returns after d or when stop is closed. one is the caller's, and stays in the
// heap when stop was closed; it must not come there twice. Alarms that are nil sleep by
// Go timers, as virtual time and systems without a timerfd need.
func (a *Alarms) Sleep(d time.Duration, one *Alarm, stop <-chan struct{}) {
	select {
	case <-stop:
		return
	default:
	}
	if a != nil {
		a.set(d, one)
	} else {
		one.timer.Reset(d)
	}
	select {
	case <-one.ring:
	case <-one.timer.C:
	case <-stop:
		one.timer.Stop()
	}
}
