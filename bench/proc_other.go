//go:build !unix

package bench

import (
	"runtime"
	"time"
)

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }

// kernel falls back to the system's name.
func kernel() string { return runtime.GOOS }
