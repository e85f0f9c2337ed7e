package clock

import "time"

// Alarm is one sleeper's, used again and again.
type Alarm struct {
	at   time.Time
	ring chan struct{} // capacity 1
}

// NewAlarm returns one that no Alarms knows yet.
func NewAlarm() *Alarm { return &Alarm{ring: make(chan struct{}, 1)} }
