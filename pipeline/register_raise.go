package pipeline

import (
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
)

// newRaising raises registers of a late master, at most conn.FoldMax. Its acquires were dropped
// (compact), so they moved these registers elsewhere only. No rule rests on it. Without it, the late
// master would grant smaller tokens than the others to another process, and that process would need
// a second round trip.
func newRaising(s *membership.Set, registers []int) *maintenance {
	e := &maintenance{requests: len(registers), answered: func(replies []resp.Reply) error {
		if err := replies[0].Err(); conn.IsUnfit(err) && !conn.IsNoScript(err) {
			return err
		}
		return nil
	}}
	s.AddRaise(&e.Batch, registers)
	return e
}
