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

// ErrConfigMismatch is matched where masters are not set up for fencing, or as another set
// than the one that is configured.
var ErrConfigMismatch = errors.New("muxlock: masters are set up otherwise")

// A Set is the masters' set that the pipeline is a client of.
type Set struct {
	text string // the description
	// The largest token of each register that was seen. An acquire proposes the next one to all
	// masters, so that one which missed some needs no raise.
	tokens [fencing.Registers]atomic.Uint64
}

func NewSet(description string) *Set { return &Set{text: description} }

// Description is empty without a set.
func (s *Set) Description() string {
	if s == nil {
		return ""
	}
	return s.text
}

// Propose returns the token that an acquire of the name asks for.
func (s *Set) Propose(name string) uint64 { return s.tokens[fencing.Register(name)].Load() + 1 }

func (s *Set) Saw(name string, token uint64) {
	last := &s.tokens[fencing.Register(name)]
	for {
		if old := last.Load(); old >= token || last.CompareAndSwap(old, token) {
			return
		}
	}
}

// Matches returns why a description that a master has is not that of the set with these members, or
// nil if it is.
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

// Foreign returns an error if a master has the description of a set that must not be replaced: another
// one, or a later one.
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

// AddRaise adds the call that raises registers to what was seen of them.
func (s *Set) AddRaise(b *conn.Batch, registers []int) {
	b.Begin(6 + 2*len(registers))
	b.Add("EVALSHA", scripts.Raise.SHA1, "2", conn.SetKey, conn.RegistersKey, s.text)
	for _, register := range registers {
		b.AddNumber(uint64(register))
		b.AddNumber(s.tokens[register].Load())
	}
}
