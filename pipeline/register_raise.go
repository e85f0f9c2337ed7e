package pipeline

import (
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// A raising raises registers of a late master. Its acquires were dropped (compact), so they moved
// these registers elsewhere only. No rule rests on it. Without it, the late master would grant
// smaller tokens than the others to another process, and that process would need a second round
// trip.
type raising struct {
	conn.Batch
	registers int
}

// newRaising takes at most conn.FoldMax registers.
func newRaising(s *membership.Set, registers []int) *raising {
	r := &raising{registers: len(registers)}
	s.AddRaise(&r.Batch, registers)
	return r
}

func (r *raising) answered(_ *master, replies []resp.Reply) error {
	if err := replies[0].Err(); conn.IsUnfit(err) && !conn.IsNoScript(err) {
		return err
	}
	return nil
}

func (r *raising) requests() int      { return r.registers }
func (r *raising) lostLocked(*master) {}
