package fencing

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Set describes masters that were set up together. Every member stores the description, and every acquire names the
// description it expects. A master that lost its data, or belongs to another set, does not have that description.
type Set struct {
	ID         string // never changes
	Generation int    // see the constants; grows with every change of the members
	MaxTTL     time.Duration
	Registers  int
	Members    []string // addresses, sorted
	Older      bool     // written by a version whose scripts compare no marks
}

// Generations of a set. Engines use a set from Serving on. No member is Serving before all were Prepared. So the set
// has never served if a member is still Preparing.
const (
	Preparing = iota
	Prepared
	Serving
)

// The versions of the description.
const (
	format      = "muxlock-set-2"
	olderFormat = "muxlock-set-1"
)

// NewSet describes a set of masters that is being set up.
func NewSet(id string, maxTTL time.Duration, members []string) Set {
	return Set{ID: id, MaxTTL: maxTTL, Registers: Registers, Members: sorted(members)}
}

// Next describes the set in its next generation, with the given members.
func (s Set) Next(members []string) Set {
	s.Generation, s.Members = s.Generation+1, sorted(members)
	return s
}

func sorted(members []string) []string { return slices.Sorted(slices.Values(members)) }

// String returns the description as the members store it.
func (s Set) String() string {
	return strings.Join(append([]string{format, s.ID, strconv.Itoa(s.Generation),
		strconv.FormatInt(s.MaxTTL.Milliseconds(), 10), strconv.Itoa(s.Registers)}, s.Members...), " ")
}

var errFormat = errors.New("is no description of a set of masters that this version knows")

// ParseSet reads a description, including one of the previous version.
func ParseSet(text string) (s Set, err error) {
	words := strings.Split(text, " ")
	if len(words) < 6 || words[0] != format && words[0] != olderFormat {
		return Set{}, errFormat
	}
	generation, err1 := strconv.Atoi(words[2])
	maxTTL, err2 := strconv.ParseInt(words[3], 10, 64)
	registers, err3 := strconv.Atoi(words[4])
	if errors.Join(err1, err2, err3) != nil {
		return Set{}, errFormat
	}
	return Set{words[1], generation, time.Duration(maxTTL) * time.Millisecond, registers, words[5:], words[0] == olderFormat}, nil
}

// Over returns nil if a master with the description theirs may be admitted to s: theirs must be s or an earlier
// generation of it, as in an old snapshot. A client must not change any other master.
func (s Set) Over(theirs Set) error {
	switch {
	case theirs.ID != s.ID || theirs.Older:
		return errors.New("is a member of another set: this process goes on only after a restart, if the masters were recovered (muxlock masters init --recover)")
	case theirs.Generation > s.Generation:
		return fmt.Errorf("set has generation %d by now, here %d: restart this process with its members, %v", theirs.Generation, s.Generation, theirs.Members)
	}
	return nil
}

// Mismatch lists the fields in which a set differs from what a client expects.
type Mismatch struct{ Fields []string }

func (m *Mismatch) Error() string { return strings.Join(m.Fields, "; ") }

// Matches returns nil if a client with the given MaxTTL and masters may use s. Otherwise it returns a *Mismatch.
func (s Set) Matches(maxTTL time.Duration, members []string) error {
	var fields []string
	differs := func(field string, here, there any) {
		fields = append(fields, fmt.Sprintf("%s: here %v, at the masters %v", field, here, there))
	}
	if s.Older {
		fields = append(fields, "set up by an earlier version, whose engines must be stopped; muxlock masters init --recover takes the masters over")
	}
	if s.MaxTTL.Milliseconds() != maxTTL.Milliseconds() { // the set stores milliseconds, as leases do
		differs("MaxTTL", maxTTL, s.MaxTTL)
	}
	if s.Registers != Registers {
		differs("registers", Registers, s.Registers)
	}
	if len(s.Members) != len(members) {
		differs("number of masters", len(members), len(s.Members))
	}
	if here := sorted(members); !slices.Equal(here, s.Members) {
		differs("masters", here, s.Members)
	}
	if len(fields) == 0 {
		return nil
	}
	return &Mismatch{fields}
}
