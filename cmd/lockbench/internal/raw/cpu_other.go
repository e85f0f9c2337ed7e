//go:build !unix

package raw

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
