package membership

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"muxlock/internal/fencing"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// ErrConfigMismatch is matched if masters are not set up for fencing, or are set up as another set
// than the configured one.
var ErrConfigMismatch = fencing.ErrOther

// A Set is the set of masters that the pipeline is a client of. nil is no set.
type Set struct {
	text string // the description
	// The largest token seen in each register. An acquire proposes the next token to all masters, so
	// that a master that missed some tokens needs no raise.
	tokens [fencing.Registers]atomic.Uint64
}

// NewSet returns the set with a description that masters show.
func NewSet(description string) *Set { return &Set{text: description} }

// Description returns the description that masters of the set show; "": there is no set.
func (s *Set) Description() string {
	if s == nil {
		return ""
	}
	return s.text
}

// Propose returns the fencing token that an acquire of the name asks for.
func (s *Set) Propose(name string) uint64 { return s.tokens[fencing.Register(name)].Load() + 1 }

// Saw notes a fencing token that a master granted for the name.
func (s *Set) Saw(name string, token uint64) {
	last := &s.tokens[fencing.Register(name)]
	for {
		if old := last.Load(); old >= token || last.CompareAndSwap(old, token) {
			return
		}
	}
}

// Matches returns why a master's description does not describe the set with these members; nil: it does.
func Matches(shown string, maxTTL time.Duration, members []string) error {
	set, err := fencing.ParseSet(shown)
	if err == nil {
		err = set.Matches(maxTTL, members)
	}
	if err == nil && set.Generation < fencing.Serving {
		err = errors.New("muxlock masters init has not come to its end: run it again")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfigMismatch, err)
	}
	return nil
}

// Foreign returns an error if a master's description is of a set that must not be replaced: another
// set, or a later generation.
func (s *Set) Foreign(shown string) error {
	if shown == "" || shown == s.text {
		return nil
	}
	ours, _ := fencing.ParseSet(s.text)
	theirs, err := fencing.ParseSet(shown)
	if err == nil {
		err = ours.Over(theirs)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfigMismatch, err)
	}
	return nil
}

// AddRaise adds the call that raises registers to the tokens seen in them.
func (s *Set) AddRaise(b *conn.Batch, registers []int) {
	b.Begin(6 + 2*len(registers))
	b.Add("EVALSHA", scripts.Raise.SHA1, "2", conn.SetKey, conn.RegistersKey, s.text)
	for _, register := range registers {
		b.AddNumber(uint64(register))
		b.AddNumber(s.tokens[register].Load())
	}
}
