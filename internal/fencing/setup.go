package fencing

import (
	"errors"
	"fmt"
	"slices"
)

// These functions decide what an operator does to masters, given what the operator found at each. Every change may be
// interrupted anywhere, and anybody may begin it again.

// Found is what an operator finds at a master.
type Found struct {
	Member   string
	Set      Set  // no ID: none
	Admitted bool // its mark names it and its present process
}

// In reports whether the master is an admitted member of exactly this generation of the set.
func (f Found) In(s Set) bool { return f.Admitted && f.Set.Is(s) }

// Is reports whether two descriptions are equal and describe a set.
func (s Set) Is(other Set) bool {
	return s.ID != "" && s.String() == other.String() && s.Older == other.Older
}

// ErrOther is returned when masters are members of another set than the wanted one.
var ErrOther = errors.New("muxlock: masters are set up otherwise")

// A LostError names members that set-up must not admit: only engines or a recovery can.
type LostError struct {
	Members []string
	Back    bool // engines can admit them once the switched members are put back
}

func (e *LostError) Error() string {
	return fmt.Sprintf("members were restarted or have lost their data: %v", e.Members)
}

// SetUp returns the set that the found masters shall become, or already are. want describes the set, with an ID for a new
// one. If the result is Preparing, the caller opens and seeds each master that is not in it. Then the caller switches all
// masters from generation to generation up to Serving. Errors: ErrOther, a *LostError.
//
// No engine uses a set below Serving. So among several sets that were begun, every operator chooses the same one. Once a
// set is Prepared, a master without it has lost data: the set may have served, and its registers must not start again.
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
		return Set{}, &LostError{Members: lost}
	}
	return chosen, nil
}

// before describes the previous generation, with the same members.
func (s Set) before() Set {
	s.Generation--
	return s
}

// Recover returns nil if the masters may be set up anew. They may have been members of any sets, if the other members of
// each such set are no quorum of it: then its clients get no more locks. The new MaxTTL must not be below the old ones.
// Error: ErrOther.
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

// A Replacement puts master To in the place of member From.
type Replacement struct{ From, To string }

// Replace returns the set before and after the replacement. stay was found at the members that stay, joins at the new
// master, goes at the old one if it can be asked; want has the members before. The caller switches the admitted members
// that stay in the order of their addresses: if two operators act at once, one then finishes, and the other is
// refused before a quorum is split. Errors: ErrOther, a *LostError.
//
// Restarted members are for engines to admit: engines of the set before if enough of its members remain, else engines
// of the set after. Engines of the set before never touch a switched member. So after a LostError with Back, the caller
// gives each switched and restarted member the description before, and a mark that no engine believes. Like a restart with
// a snapshot from before the switch, this takes no votes and lowers no register. It is safe at any time, whatever the
// member granted for the set after: such a grant counts only once a quorum of members that stay was switched. From then on
// at most N-q members are admitted to the set before, and it takes N-q+1 to admit another one. So the set before gets no
// quorum again.
func (r Replacement) Replace(stay []Found, joins, goes Found, want Set) (before, after Set, err error) {
	next := slices.Clone(want.Members)
	next[slices.Index(next, r.From)] = r.To
	var lost LostError
	for _, f := range stay {
		if f.Set.Generation < Serving {
			return before, after, fmt.Errorf("%w: %s is not set up", ErrOther, f.Member)
		}
		was, switched := f.Set, f.Set.Matches(want.MaxTTL, next) == nil
		if switched { // by an operator who was interrupted
			was = f.Set.before()
			was.Members = sorted(want.Members)
		} else if err := f.Set.Matches(want.MaxTTL, want.Members); err != nil {
			return before, after, fmt.Errorf("%w: %s: %w", ErrOther, f.Member, err)
		}
		if before.ID != "" && !before.Is(was) {
			return before, after, fmt.Errorf("%w: %s is a member of another set", ErrOther, f.Member)
		}
		if before = was; !f.Admitted {
			lost.Members, lost.Back = append(lost.Members, f.Member), lost.Back || switched
		}
	}
	after = before.Next(next)
	if joins.Set.ID != "" && !joins.Set.Is(after) {
		return before, after, fmt.Errorf("%w: %s is a member of a set", ErrOther, r.To)
	}
	others := 0
	for _, f := range append(slices.Clone(stay), goes) {
		if f.In(before) {
			others++
		}
	}
	peers := Peers(len(next), len(next)/2+1)
	if lost.Back = lost.Back && others >= peers; lost.Members != nil && (others >= peers || len(stay)-len(lost.Members) < peers) {
		err = &lost
	}
	return before, after, err
}
