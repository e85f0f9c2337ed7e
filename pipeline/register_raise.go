package pipeline

import (
	"muxlock/internal/resp"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// A raising raises registers of a late master that was spared the acquires which moved them
// elsewhere. Nothing rests on it. Without, it would grant smaller tokens than the others to
// another process, which does not know of those that this one used, and needs a second
// round trip then.
type raising struct {
	conn.Batch
	registers int
}

// newRaising takes at most conn.FoldMax registers.
func (s *set) newRaising(registers []int) *raising {
	r := &raising{registers: len(registers)}
	r.Begin(6 + 2*len(registers))
	r.Add("EVALSHA", scripts.Raise.SHA1, "2", conn.SetKey, conn.RegistersKey, s.text)
	for _, register := range registers {
		r.AddNumber(uint64(register))
		r.AddNumber(s.tokens[register].Load())
	}
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
