//go:build !linux

package clock

import "time"

// Nap sleeps for about d.
func Nap(d time.Duration) { time.Sleep(d) }
