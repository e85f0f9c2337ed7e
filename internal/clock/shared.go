package clock

import (
	"sync"
	"time"
)

// Shared reads a clock that all processes of this machine share and nobody can set. id names the clock and changes when
// the machine restarts; now is how long it has run. The id is "" where there is no such clock, as in a synctest bubble.
func Shared() (id string, now time.Duration) {
	if inBubble() {
		return "", 0
	}
	return sharedID(), time.Duration(Boottime())
}

var sharedID = sync.OnceValue(bootID)
