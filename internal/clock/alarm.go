package clock

import "time"

// Alarm is one sleeper's, used again and again.
type Alarm struct {
	at    time.Time
	index int           // in the heap of its Alarms, -1: not there
	ring  chan struct{} // capacity 1
	timer *time.Timer
}

// grace is how late an alarm may be before a Go timer ends the sleep: the network poller is
// asked last on a busy machine.
const grace = 100 * time.Microsecond

// NewAlarm returns one that no Alarms knows yet.
func NewAlarm() *Alarm {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &Alarm{index: -1, ring: make(chan struct{}, 1), timer: timer}
}

// Sleep returns after d or when stop is closed. one is the caller's, for one sleep at a time.
// Alarms that are nil sleep by Go timers, as virtual time and systems without a timerfd need.
func (a *Alarms) Sleep(d time.Duration, one *Alarm, stop <-chan struct{}) {
	select {
	case <-stop:
		return
	default:
	}
	if a != nil {
		a.set(d, one)
		defer a.unset(one)
		d += grace
	}
	one.timer.Reset(d)
	defer one.timer.Stop()
	select {
	case <-one.ring:
	case <-one.timer.C:
	case <-stop:
	}
}
