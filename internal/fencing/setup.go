package fencing

import (
	"errors"
	"fmt"
	"slices"
)

// What an operator does to masters, from what is found at each. All of it may be cut anywhere
// and begun again by anybody.

// Found is what an operator finds at a master.
type Found struct {
	Member   string
	Set      Set  // no ID: none
	Admitted bool // it has a mark that names it and its process
}

// In reports whether the master is an admitted member of the set, in that generation.
func (f Found) In(s Set) bool { return f.Admitted && f.Set.Is(s) }

// Is reports whether two descriptions are the same.
func (s Set) Is(other Set) bool {
	return s.ID != "" && s.String() == other.String() && s.Older == other.Older
}

// ErrOther is matched where masters are members of sets that are not the one to be set up.
var ErrOther = errors.New("masters are set up otherwise")

// A LostError names members that only engines, or a recovery, can admit.
type LostError struct{ Members []string }

func (e *LostError) Error() string {
	return fmt.Sprintf("members were restarted or have lost their data: %v", e.Members)
}

// SetUp returns the set that the masters found are to become, or are: want describes it, with an
// ID for a new one. Of a set below Prepared the masters that are not yet in it are to be opened
// and seeded; then all are to be switched from generation to generation (Switches), up to
// Serving. Errors: ErrOther, a *LostError.
//
// No engine takes part in a set below Serving, so of several that were begun one is chosen,
// by everybody the same. Where one has been Prepared, masters without it have lost data: the
// set may have served, and its registers must not begin again.
func SetUp(found []Found, want Set) (Set, error) {
	chosen := want
	for _, f := range found {
		if f.Set.ID == "" {
			continue
		}
		matches := f.Set.Matches(want.MaxTTL, want.Members)
		switch begun := f.Set.Generation == Preparing && !f.Set.Older; {
		case begun && (matches != nil || chosen.Generation > Preparing):
		case begun && (chosen.Is(want) || f.Set.ID < chosen.ID):
			chosen = f.Set
		case begun:
		case matches != nil:
			return Set{}, fmt.Errorf("%w: %s: %w", ErrOther, f.Member, matches)
		case chosen.Generation > Preparing && chosen.ID != f.Set.ID:
			return Set{}, fmt.Errorf("%w: as members of different sets", ErrOther)
		case f.Set.Generation > chosen.Generation:
			chosen = f.Set
		}
	}
	if chosen.Generation == Preparing {
		return chosen, nil
	}
	var lost []string
	for _, f := range found {
		if !f.In(chosen) && !(chosen.Generation <= Serving && f.In(chosen.before())) {
			lost = append(lost, f.Member)
		}
	}
	if lost != nil {
		return Set{}, &LostError{lost}
	}
	return chosen, nil
}

// before describes the set in the generation before, with the same members.
func (s Set) before() Set {
	s.Generation--
	return s
}

// Recover returns nil if masters may be set up anew, whatever they were: of each set that they
// are of, so many members are among them that the others are no quorum, and clients of that
// set get no more locks. MaxTTL must not be below that of any of these sets.
func Recover(found []Found, want Set) error {
	for _, f := range found {
		if f.Set.ID == "" || f.Set.Generation == Preparing {
			continue
		}
		if f.Set.MaxTTL > want.MaxTTL {
			return fmt.Errorf("%w: %s: MaxTTL was %v, here it is %v", ErrOther, f.Member, f.Set.MaxTTL, want.MaxTTL)
		}
		var outside []string
		for _, m := range f.Set.Members {
			if !slices.Contains(want.Members, m) {
				outside = append(outside, m)
			}
		}
		if len(outside) > len(f.Set.Members)/2 {
			return fmt.Errorf("%w: %s is of a set whose masters %v are a quorum without the others: its clients would go on", ErrOther, f.Member, outside)
		}
	}
	return nil
}

// A Replacement is a member that goes and another that comes in its place.
type Replacement struct{ From, To string }

// Replace returns the set before and after a member is replaced, where stay is found at the
// others of it and joins at the one that comes. now has the members before. The members that
// stay are to be switched in the order of their addresses: so of two operators who begin at the
// same time one ends, and the other is refused before a quorum is split. Errors: ErrOther, a
// *LostError.
func (r Replacement) Replace(stay []Found, joins Found, want Set) (before, after Set, err error) {
	next := slices.Clone(want.Members)
	next[slices.Index(next, r.From)] = r.To
	for _, f := range stay {
		switch {
		case f.Set.Generation < Serving:
			return before, after, fmt.Errorf("%w: %s is not set up", ErrOther, f.Member)
		case !f.Admitted:
			return before, after, &LostError{[]string{f.Member}}
		}
		was, switched := f.Set, f.Set.Matches(want.MaxTTL, next) == nil
		if switched { // before this one was cut
			was = f.Set.before()
			was.Members = sorted(want.Members)
		} else if err := f.Set.Matches(want.MaxTTL, want.Members); err != nil {
			return before, after, fmt.Errorf("%w: %s: %w", ErrOther, f.Member, err)
		}
		if before.ID != "" && !before.Is(was) {
			return before, after, fmt.Errorf("%w: %s is a member of another set", ErrOther, f.Member)
		}
		before = was
	}
	after = before.Next(next)
	if joins.Set.ID != "" && !joins.Set.Is(after) {
		return before, after, fmt.Errorf("%w: %s is a member of a set", ErrOther, r.To)
	}
	return before, after, nil
}
