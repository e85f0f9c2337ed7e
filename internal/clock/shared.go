package clock

import (
	"sync"
	"time"
)

// Shared returns a clock that all processes of this machine read alike and nobody sets, until the
// machine is started again: its id, and how long it has run. The id is "" where there is none, as
// in a synctest bubble.
func Shared() (id string, now time.Duration) {
	if inBubble() {
		return "", 0
	}
	return sharedID(), time.Duration(Boottime())
}

var sharedID = sync.OnceValue(bootID)
