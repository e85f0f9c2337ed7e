package membership

import (
	"strconv"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline/internal/conn"
)

// A WaitClock counts the wait of a master across processes. If programs run only for a moment, the
// wait may begin in one process and end in the next. So the master keeps an entry with the time when
// it got its ticket, by a clock that the processes of one machine share and nobody sets
// (clock.Shared). Other machines count by their own clocks. The servers' clocks do not serve: TIME
// and uptime can be set. Clones of a running virtual machine share its id, and their clocks part when
// one is paused: such clones must not both run clients.
//
// The entry holds for one set: a master that joins another set has to outlast the locks that the
// leaving member has granted until now. And the entry holds as long as the server's data stay the
// same: ID changes when they are replaced in a running server, by replication or by SWAPDB.
type WaitClock struct {
	ID  string // "": this machine has no such clock
	now func() time.Duration
}

// NewWaitClock returns the clock for a member of the described set, whose server has the given
// data: see Server.ReplID and Look.Swaps.
func NewWaitClock(set, replID, swaps string) WaitClock {
	id, _ := clock.Shared()
	if id == "" {
		return WaitClock{}
	}
	return WaitClock{id + " " + replID + " " + swaps + " " + set, func() time.Duration {
		_, now := clock.Shared()
		return now
	}}
}

// Passed returns the age of a master's entry; false: it is not known.
func (c WaitClock) Passed(since string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(since, 10, 64)
	if err != nil || c.ID == "" {
		return 0, false
	}
	return max(0, c.now()-time.Duration(ms)*time.Millisecond), true
}

// AddNote adds the command that writes the entry, once the master has its ticket. The clock is read
// after the master has answered, and rounded up, so that no wait is too short.
func (c WaitClock) AddNote(b *conn.Batch, ticket string) {
	b.Command("HSET", conn.SinceKey, ticket+" "+c.ID, strconv.FormatInt(c.now().Milliseconds()+1, 10))
}
