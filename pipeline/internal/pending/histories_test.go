package pending

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/pipeline/internal/conn"
)

// A world is a master with its connections, and a pipeline that keeps Releases of it. Round n acquires
// lock n or releases one. What was sent on a connection that died may be executed, in order, until the
// dead-peer time after the next admission.
type world struct {
	r     *Releases
	fault string // a rule that is left out

	now    time.Time
	up     bool
	round  uint64
	locks  []uint64 // acquired, not released yet: their rounds
	lined  map[uint64]bool
	healed map[uint64]bool
	wire   []command
	dead   []dead // oldest first
	has    map[uint64]bool
}

// A dead has the commands that a dead connection carried.
type dead struct {
	commands []command
	deadline time.Time // zero: the master was not admitted since
}

type command struct {
	release     bool
	lock, round uint64
}

func (w *world) request(c command) *conn.Request {
	op := conn.Release
	if w.lined[c.lock] {
		op = conn.Pass
	}
	return &conn.Request{Op: op, Healed: w.healed[c.lock] && w.fault != "heals forgotten", Name: fmt.Sprint(c.lock), Token: fmt.Sprint(c.lock), TTL: time.Hour, Origin: conn.InRound(c.lock)}
}

const deadPeer = time.Second

func newWorld(fault string) *world {
	r := New(deadPeer)
	w := &world{r: &r, fault: fault, now: time.Unix(0, 0), has: make(map[uint64]bool), lined: make(map[uint64]bool), healed: make(map[uint64]bool)}
	w.connect()
	return w
}

func (w *world) execute(c command) { w.has[c.lock] = !c.release }

// form sends a round, or leaves the master out of it.
func (w *world) form(c command) {
	if w.up {
		w.wire = append(w.wire, c)
	} else if c.release && w.r.MustRelease(conn.InRound(c.lock)) {
		w.r.Add(w.request(c), w.now)
	}
}

// An event reports whether it changed anything.

func (w *world) acquire() bool {
	w.round++
	w.locks = append(w.locks, w.round)
	w.form(command{lock: w.round, round: w.round})
	return true
}

// stay asks once more for a lock, as a token does that stands in line.
func (w *world) stay() bool { return w.again(w.lined) }

// heal asks once more for a lock, as its holder does.
func (w *world) heal() bool { return w.again(w.healed) }

func (w *world) again(by map[uint64]bool) bool {
	if len(w.locks) == 0 {
		return false
	}
	w.round++
	by[w.locks[0]] = true
	w.form(command{lock: w.locks[0], round: w.round})
	return true
}

func (w *world) release() bool {
	if len(w.locks) == 0 {
		return false
	}
	w.round++
	w.form(command{release: true, lock: w.locks[0], round: w.round})
	w.locks = w.locks[1:]
	return true
}

// answer has the master execute and answer the oldest command on the wire.
func (w *world) answer() bool {
	if len(w.wire) == 0 {
		return false
	}
	c := w.wire[0]
	w.wire = w.wire[1:]
	w.execute(c)
	if c.release && w.r.InDoubt() {
		w.r.Sent(w.request(c), w.now, false)
	}
	return true
}

// cut ends the connection: the master may have executed what is on the wire, or may do so later.
func (w *world) cut() bool {
	if !w.up {
		return false
	}
	w.up = false
	w.dead = append(w.dead, dead{commands: w.wire})
	skipped := w.round + 1
	if w.fault == "left out too early" {
		skipped--
	}
	w.r.LeaveOut(skipped)
	if len(w.wire) > 0 && w.fault != "nothing in doubt" {
		w.r.Died(w.wire[0].round, w.wire[len(w.wire)-1].round)
	}
	for _, c := range w.wire {
		if c.release {
			w.r.Add(w.request(c), w.now)
		}
	}
	w.wire = nil
	return true
}

// late has the master execute the next bytes of the newest connection that died and has any.
func (w *world) late() bool {
	for i := len(w.dead) - 1; i >= 0; i-- {
		if d := &w.dead[i]; len(d.commands) > 0 && (d.deadline.IsZero() || w.now.Before(d.deadline)) {
			w.execute(d.commands[0])
			d.commands = d.commands[1:]
			return true
		}
	}
	return false
}

// connect admits the master again, with its pending releases first.
func (w *world) connect() bool {
	if w.up {
		return false
	}
	w.take()
	w.r.Admitted(w.now)
	w.r.TakeIn()
	w.up = true
	for i := range w.dead {
		if w.dead[i].deadline.IsZero() {
			w.dead[i].deadline = w.now.Add(deadPeer)
		}
	}
	return true
}

func (w *world) take() {
	for _, due := range w.r.Take(w.now, 100) {
		var lock uint64
		_, _ = fmt.Sscan(due.Token, &lock)
		w.execute(command{release: true, lock: lock})
		if w.fault != "sent once" {
			w.r.Confirmed([]*Release{due}, w.now)
		}
	}
}

// wait lets the dead-peer time pass.
func (w *world) wait() bool {
	w.now = w.now.Add(deadPeer)
	if w.up {
		w.take()
	}
	return true
}

// quiesce releases everything, and returns the locks that the master still has. Late bytes are
// executed at the last moment, if at all.
func (w *world) quiesce(late bool) (left []uint64) {
	for len(w.locks) > 0 {
		w.release()
	}
	w.connect()
	for len(w.wire) > 0 {
		w.answer()
	}
	for late && w.late() {
	}
	w.wait()
	w.wait()
	for lock, has := range w.has {
		if has {
			left = append(left, lock)
		}
	}
	return left
}

var events = []struct {
	name string
	do   func(*world) bool
}{
	{"acquire", (*world).acquire}, {"stay", (*world).stay}, {"heal", (*world).heal}, {"release", (*world).release}, {"answer", (*world).answer}, {"cut", (*world).cut},
	{"late", (*world).late}, {"connect", (*world).connect}, {"wait", (*world).wait},
}

// leftIn runs all histories of at most so many events with a rule left out, and returns one after which a lock is left; ""
// if there is none. A history with an event that changes nothing is one of the shorter ones.
func leftIn(depth int, fault string) (found string, histories int) {
	var steps []int
	after := func() *world {
		w := newWorld(fault)
		for _, s := range steps {
			events[s].do(w)
		}
		return w
	}
	var search func() bool // reports whether a lock was left
	search = func() bool {
		for _, late := range []bool{false, true} {
			histories++
			if left := after().quiesce(late); left != nil {
				for _, s := range steps {
					found += events[s].name + " "
				}
				found = fmt.Sprint(found, "late: ", late, ", left: ", left)
				return true
			}
		}
		if len(steps) == depth {
			return false
		}
		for s, event := range events {
			if !event.do(after()) {
				continue
			}
			steps = append(steps, s)
			if search() {
				return true
			}
			steps = steps[:len(steps)-1]
		}
		return false
	}
	search()
	return found, histories
}

func TestNoLockIsLeftInAnyShortHistory(t *testing.T) {
	const depth = 7
	found, histories := leftIn(depth, "")
	require.Empty(t, found)
	t.Logf("%d histories of up to %d events", histories, depth)
	for _, fault := range []string{"left out too early", "nothing in doubt", "sent once", "heals forgotten"} {
		found, _ := leftIn(depth, fault)
		t.Log(fault, ": ", found)
		require.NotEmpty(t, found, fault)
	}
}
