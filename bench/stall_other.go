//go:build !linux

package bench

import "time"

func sharpen() {}

// sleepThread is as exact as Go timers are.
func sleepThread(d time.Duration) { time.Sleep(d) }

// threadCPU is not known here.
func threadCPU() time.Duration { return 0 }
