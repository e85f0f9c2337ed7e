package pipeline

import (
	"fmt"
	"strings"
	"time"

	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
	"muxlock/pipeline/internal/pending"
)

// A flight is some commands of a part, or maintenance, sent to a master and not answered yet.
type flight struct {
	part        part
	first, end  int  // the part's commands in this flight: first to before end
	last        bool // of the part
	requests    int
	ahead       int          // requests on the wire when it was sent
	maintenance *maintenance // instead of a part

	sent   time.Time // before the write
	wrote  time.Time // after the write; zero: not yet
	writes int       // 1 for the first flight of a write; 0 for the others and for maintenance
}

// An inFlight is all flights of a master; guarded by Pipeline.mu.
type inFlight struct {
	flights        []flight  // oldest first
	onWire         int       // requests in flights
	writes         int       // that carried flights
	unclaimed      int       // newest flights that nobody writes yet
	sendingPending bool      // a pendingBatch is among flights
	checked        time.Time // when the last check was sent
}

// commands returns how many replies the flight will have.
func (f *flight) commands() int {
	if f.maintenance != nil {
		return f.maintenance.Commands()
	}
	return f.end - f.first
}

// A maintenance is a batch of commands that the pipeline sends a master on its own account, in
// order with the rounds.
type maintenance struct {
	conn.Batch
	requests int // that count as on the wire
	// answered takes the replies, without the mutex. An error means that the master is not fit to
	// serve.
	answered func(replies []resp.Reply) error
	// lostLocked is called instead if the connection ends before the replies. It may be nil.
	lostLocked func()
	releases   []*pending.Release // that it sends
}

// newCheck returns a check: it asks whether the server of a connection is still a master and still
// has the same data. If the last check is tickPeriod old, the next one goes in front of requests, in
// the same write: if the data have changed, the answers behind it do not count. A check costs the
// server 1 us; all of INFO costs 9. A server that is sent nothing is checked every idlePeriod. This
// tests the connection, too: a broken one is replaced before a caller needs it.
func (m *master) newCheck(now time.Time, glance bool) *maintenance {
	e := &maintenance{}
	membership.AddCheck(&e.Batch, glance)
	e.answered = func(replies []resp.Reply) error {
		var text strings.Builder
		for _, r := range replies {
			if err := r.Err(); err != nil {
				return fmt.Errorf("check: %w", err)
			}
			text.WriteString(r.Text)
		}
		if err := m.note(serverinfo.Parse(text.String()), now); err != nil {
			return fmt.Errorf("check: %w", err)
		}
		m.vouched(now)
		return nil
	}
	return e
}

// newRaising raises registers of a late master, at most conn.FoldMax. The late master's acquires were
// dropped (compact), so they moved these registers only at other masters. No rule depends on raising
// them. Without it, the late master would grant smaller tokens than the others to another process,
// and that process would need a second round trip.
func newRaising(s *membership.Set, registers []int) *maintenance {
	e := &maintenance{requests: len(registers), answered: unlessUnfit}
	s.AddRaise(&e.Batch, registers)
	return e
}

// unlessUnfit ignores errors among the replies, unless they show that the master is not fit to serve.
func unlessUnfit(replies []resp.Reply) error {
	for _, r := range replies {
		if err := r.Err(); conn.IsUnfit(err) && !conn.IsNoScript(err) {
			return err
		}
	}
	return nil
}
