package membership

import (
	"strconv"
	"time"

	"muxlock/internal/clock"
	"muxlock/pipeline/internal/conn"
)

// A WaitClock counts the wait of a master across processes. The wait may begin in one process
// and end in the next, as with programs that run for a moment, so since when a master has its
// ticket is kept there, by a clock that processes of one machine share and nobody sets
// (clock.Shared). Processes of other machines count by their own. The servers' clocks would not do:
// TIME and uptime can be set. Clones of a virtual machine that was running share
// its id, and their clocks part when one is paused: such clones must not both run clients.
//
// The entry holds for the data that the server has without a break: id names what changes when
// that is replaced in a running server, by replication or by SWAPDB.
type WaitClock struct {
	ID  string // "": there is none
	now func() time.Duration
}

func NewWaitClock(replID, swaps string) WaitClock {
	id, _ := clock.Shared()
	if id == "" {
		return WaitClock{}
	}
	return WaitClock{id + " " + replID + " " + swaps, func() time.Duration {
		_, now := clock.Shared()
		return now
	}}
}

// Passed returns how long ago since is, as a master has it.
func (c WaitClock) Passed(since string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(since, 10, 64)
	if err != nil || c.ID == "" {
		return 0, false
	}
	return max(0, c.now()-time.Duration(ms)*time.Millisecond), true
}

// AddNote keeps at a master that it has its ticket by now. The clock is read after the master has
// answered, and rounded up, so that the wait is never too short.
func (c WaitClock) AddNote(b *conn.Batch, ticket string) {
	b.Begin(4)
	b.Add("HSET", conn.SinceKey, ticket+" "+c.ID, strconv.FormatInt(c.now().Milliseconds()+1, 10))
}
