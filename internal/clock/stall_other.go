//go:build !linux

package clock

import "time"

func sharpen() {}

// sleepThread is as exact as Go timers are.
func sleepThread(d time.Duration) { time.Sleep(d) }
