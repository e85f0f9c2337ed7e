package pipeline

import (
	"fmt"
	"strings"
	"time"

	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// A flight is what a master was sent and has not answered: some commands of a part, or
// maintenance.
type flight struct {
	part        part
	first, end  int  // its commands, of the part
	last        bool // the part's
	requests    int
	ahead       int         // requests that were on the wire before it
	maintenance maintenance // instead of a part

	sent   time.Time // before it was written
	wrote  time.Time // after; zero: not yet
	writes int       // 1 for the first flight of a write, 0 for others and for maintenance
}

// An inFlight is what the master was sent and has not answered; guarded by Pipeline.mu.
type inFlight struct {
	flights        []flight  // oldest first
	onWire         int       // requests in flights
	writes         int       // writes that flights belong to
	unclaimed      int       // flights, the newest, that nobody writes yet
	sendingPending bool      // pending releases are among them
	checked        time.Time // when the last check was sent
}

// commands returns how many replies the flight will have.
func (f *flight) commands() int {
	if f.maintenance != nil {
		return f.maintenance.Commands()
	}
	return f.end - f.first
}

// A maintenance is a batch of commands that the pipeline sends one master for itself, in order
// with the rounds.
type maintenance interface {
	Bytes() []byte
	Commands() int
	requests() int
	// answered takes the replies. An error means that the master is not fit to serve. It is
	// called without the mutex.
	answered(m *master, replies []resp.Reply) error
	// lostLocked is called instead when the connection ends before.
	lostLocked(m *master)
}

// A check asks the server of a connection whether it still is a master and has the data
// that it had. It goes in front of requests when the last one is tickPeriod old, in the same
// write, so that their answers do not count if the data are others (1 us of the server's time;
// all of INFO takes 9). A server that is sent nothing is checked every idlePeriod, which tries out
// the connection as well, so that one that was cut is replaced before a caller meets it.
type check struct {
	conn.Batch
	asked time.Time
}

// newCheck returns a check, of which a glance is enough if the last one was just now.
func newCheck(now time.Time, glance bool) *check {
	e := &check{asked: now}
	membership.AddCheck(&e.Batch, glance)
	return e
}

func (e *check) answered(m *master, replies []resp.Reply) error {
	var text strings.Builder
	for _, r := range replies {
		if err := r.Err(); err != nil {
			return fmt.Errorf("check: %w", err)
		}
		text.WriteString(r.Text)
	}
	if err := m.note(serverinfo.Parse(text.String()), e.asked); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

func (e *check) requests() int      { return 0 }
func (e *check) lostLocked(*master) {}

// A loading loads the scripts.
type loading struct{ conn.Batch }

func newLoading(fencing bool) *loading {
	e := &loading{}
	e.LoadScripts(fencing)
	return e
}

func (e *loading) answered(_ *master, replies []resp.Reply) error {
	for _, r := range replies {
		if err := r.Err(); conn.IsUnfit(err) {
			return err
		}
	}
	return nil // if they are still missing, the next command fails
}

func (e *loading) requests() int      { return 0 }
func (e *loading) lostLocked(*master) {}
