package pipeline

import (
	"strconv"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
)

// A waitClock counts the wait of a master across processes. The wait may begin in one process
// and end in the next, as with programs that run for a moment, so since when a master has its
// ticket is kept there, by a clock that processes of one machine share and nobody sets
// (clock.Shared). Processes of other machines count by their own. The servers' clocks would not do:
// TIME and uptime can be set. Clones of a virtual machine that was running share
// its id, and their clocks part when one is paused: such clones must not both run clients.
//
// The entry holds for the data that the server has without a break: id names what changes when
// that is replaced in a running server, by replication or by SWAPDB.
type waitClock struct {
	id  string // "": there is none
	now func() time.Duration
}

func newWaitClock(replID, swaps string) waitClock {
	id, _ := clock.Shared()
	if id == "" {
		return waitClock{}
	}
	return waitClock{id + " " + replID + " " + swaps, func() time.Duration {
		_, now := clock.Shared()
		return now
	}}
}

// passed returns how long ago since is, as a master has it.
func (c waitClock) passed(since string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(since, 10, 64)
	if err != nil || c.id == "" {
		return 0, false
	}
	return max(0, c.now()-time.Duration(ms)*time.Millisecond), true
}

// note keeps at a master that it has its ticket by now. The clock is read after the master has
// answered, and rounded up, so that the wait is never too short.
func (c waitClock) note(m *master, ticket string, now time.Time) {
	if c.id == "" {
		return
	}
	n := &noting{}
	n.Begin(4)
	n.Add("HSET", conn.SinceKey, ticket+" "+c.id, strconv.FormatInt(c.now().Milliseconds()+1, 10))
	m.member.busy = true
	m.sendLocked(n, now)
}

// A noting notes since when a master waits.
type noting struct {
	conn.Batch
	step
}

func (n *noting) answered(m *master, replies []resp.Reply) error {
	m.p.mu.Lock()
	m.member.busy = false
	m.p.mu.Unlock()
	if err := replies[0].Err(); conn.IsUnfit(err) {
		return err
	}
	return nil
}
