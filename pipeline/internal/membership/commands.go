package membership

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
	"muxlock/internal/token"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// A Look has the keys that a master showed when it was looked at.
type Look struct {
	Shown string // the description of its set; "": none
	Mark  string // of its admission, or of an earlier one
	Swaps string // how often its databases were swapped
}

// AddLook adds the commands whose replies ReadLook reads.
func AddLook(b *conn.Batch) {
	b.Command("GET", conn.SetKey)
	b.Command("GET", conn.MarkKey)
	b.Command("INFO", "commandstats")
}

// ReadLook reads the replies to AddLook. Without fencing, a master whose ACL denies the look shows nothing.
func ReadLook(replies []resp.Reply, fencing bool) (l Look, err error) {
	for _, r := range replies {
		switch err := r.Err(); {
		case !fencing && conn.IsACL(err):
			return l, nil
		case err != nil:
			return l, fmt.Errorf("set of masters: %w", err)
		}
	}
	return Look{replies[0].Text, replies[1].Text, serverinfo.Parse(replies[2].Text).DatabasesSwapped()}, nil
}

// AddCheck adds the commands whose replies Server.Check reads. A glance leaves out fields that Check
// needs only if the last check was longer ago.
func AddCheck(b *conn.Batch, glance bool) {
	b.Command("INFO", "replication")
	if !glance {
		b.Command("INFO", "stats")
	}
}

// NewMark returns a mark, or ticket, for the server behind the address member.
func NewMark(runID, member string) string {
	return fencing.Mark{Nonce: token.New(), RunID: runID, Member: member}.String()
}

// AddSwitch adds the call that gives a member nextSet and nextMark, if its description and mark are
// set and mark.
func AddSwitch(b *conn.Batch, set, mark, nextSet, nextMark string) {
	b.Command("EVALSHA", scripts.Switch.SHA1, "2", conn.SetKey, conn.MarkKey, set, mark, nextSet, nextMark)
}

// AddOpen adds the call that begins an admission, if the master still shows this description and
// mark.
func AddOpen(b *conn.Batch, shown, mark, ticket, clock string) {
	b.Command("EVALSHA", scripts.Open.SHA1, "4", conn.SetKey, conn.MarkKey, conn.TicketKey, conn.SinceKey, shown, mark, ticket, clock)
}

// AddReadRegisters adds the call that reads all registers of a member with the given description
// and mark.
func AddReadRegisters(b *conn.Batch, set, mark string) {
	b.Command("EVALSHA", scripts.ReadRegisters.SHA1, "3", conn.SetKey, conn.MarkKey, conn.RegistersKey, set, mark)
}

// ParseRegisters reads fields and values, in turn. An error says that some register holds no token;
// the others have been read.
func ParseRegisters(text string, into *[fencing.Registers]uint64) (err error) {
	words, seen, missing := strings.Fields(text), [fencing.Registers]bool{}, fencing.Registers
	for i := 0; i+1 < len(words); i += 2 {
		register, err1 := strconv.Atoi(words[i])
		value, err2 := strconv.ParseUint(words[i+1], 10, 64)
		if errors.Join(err1, err2) != nil || register < 0 || register >= fencing.Registers || value > fencing.MaxToken {
			err = fmt.Errorf("%w: register %s", conn.ErrRegister, words[i])
			continue
		}
		if !seen[register] {
			missing--
		}
		into[register], seen[register] = value, true
	}
	if missing > 0 && err == nil {
		err = fmt.Errorf("%w: %d of %d are missing", conn.ErrRegister, missing, fencing.Registers)
	}
	return err
}

// AddSeed adds the call that admits a master: it gets registers and description, and its ticket
// becomes its mark.
func AddSeed(b *conn.Batch, set, ticket, shown string, registers []uint64) {
	b.Begin(11 + len(registers))
	b.Add("EVALSHA", scripts.Seed.SHA1, "5", conn.SetKey, conn.MarkKey, conn.TicketKey, conn.SinceKey, conn.RegistersKey)
	b.Add(set, ticket, shown)
	for _, value := range registers {
		b.AddNumber(value)
	}
}
