//go:build !linux

package bench

import "time"

// threadCPU is not known here.
func threadCPU() time.Duration { return 0 }
