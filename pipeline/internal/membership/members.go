package membership

import (
	"context"
	"slices"
	"sync"
	"time"

	"muxlock/internal/fencing"
	"muxlock/pipeline/internal/conn"
)

// A Member is a master as Members found it.
type Member struct {
	Address  string
	Err      error       // why the master could not be asked
	Set      fencing.Set // as it describes its set; no ID: it has no description
	Admitted bool        // it votes for engines that expect this set
	// LargestFence is at least every fence that engines got from the master, if none was lost. 0:
	// there is none.
	LargestFence uint64
	// Waits says that the master waits to be admitted, and Left for how long yet, by the clock of
	// this machine. Left is the whole wait if nobody here has met the master since it lost its
	// data.
	Waits bool
	Left  time.Duration
}

// Members asks all masters for their state, side by side.
func Members(ctx context.Context, s Setup) (members []Member) {
	visits := s.visit(ctx, s.Masters)
	defer closeAll(visits)
	var asked sync.WaitGroup
	members = make([]Member, len(visits))
	set := mostShown(visits)
	for i, v := range visits {
		members[i] = Member{Address: v.Member, Err: v.err, Set: v.Set}
		if v.err == nil {
			asked.Go(func() { members[i].Err = v.describe(&members[i], set, s.Wait) })
		}
	}
	asked.Wait()
	return members
}

// mostShown returns the description that most masters show: engines admit other masters to its set.
func mostShown(visits []*visit) (set string) {
	count := make(map[string]int)
	for _, v := range visits {
		if v.Shown == "" {
			continue
		}
		if count[v.Shown]++; count[v.Shown] > count[set] {
			set = v.Shown
		}
	}
	return set
}

// describe asks for the rest of m. set is the set that the master waits for.
func (v *visit) describe(m *Member, set string, wait time.Duration) error {
	clock := NewWaitClock(set, v.replID, v.Swaps)
	var b conn.Batch
	b.Command("GET", conn.TicketKey)
	AddReadRegisters(&b, "", "")
	replies, err := conn.Checked(v.Ask(&b, nil))
	if err != nil {
		return err
	}
	var registers [fencing.Registers]uint64
	_ = ParseRegisters(replies[1].Text, &registers) // as many as can be read
	m.LargestFence = fencing.Fence(slices.Max(registers[:]), fencing.MaxHandOvers)
	m.Admitted = v.Admitted && v.Set.Generation >= fencing.Serving && !v.Set.Older
	ticket := replies[0].Text
	if m.Admitted || ticket == "" {
		return nil
	}
	m.Waits, m.Left = true, wait
	b.Reset()
	b.Command("HGET", conn.SinceKey, ticket+" "+clock.ID)
	if replies, err = v.Ask(&b, nil); err != nil {
		return err
	}
	if passed, known := clock.Passed(replies[0].Text); known && fencing.ParseMark(ticket).Admits(v.runID, v.Member) {
		m.Left = max(0, wait-passed)
	}
	return nil
}
