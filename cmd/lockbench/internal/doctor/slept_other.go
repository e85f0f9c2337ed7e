//go:build !linux

package doctor

import "time"

// slept is not known here.
func slept() time.Duration { return 0 }
