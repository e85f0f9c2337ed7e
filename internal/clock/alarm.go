package clock

import "time"

// Alarm belongs to one sleeper, which reuses it.
type Alarm struct {
	at    time.Time
	index int           // in the heap of its Alarms; -1: not in a heap
	ring  chan struct{} // capacity 1
	timer *time.Timer
}

// grace is how late an alarm may ring before a Go timer ends the sleep. On a busy machine the network poller comes last.
const grace = 100 * time.Microsecond

// NewAlarm returns an alarm that is in no heap.
func NewAlarm() *Alarm {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &Alarm{index: -1, ring: make(chan struct{}, 1), timer: timer}
}

// Sleep returns after d or when stop is closed. The caller uses one for one sleep at a time. Nil Alarms sleep by Go
// timers: virtual time needs that, and a system without a timerfd.
func (a *Alarms) Sleep(d time.Duration, one *Alarm, stop <-chan struct{}) {
	select {
	case <-stop:
		return
	default:
	}
	if a != nil {
		a.arm(d, one)
		defer a.disarm(one)
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
