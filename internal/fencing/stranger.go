package fencing

import (
	"fmt"
	"slices"
	"time"
)

// Shown is what a master shows to a client: the description of its set ("": none), its mark, and its present process.
type Shown struct{ Set, Mark, RunID string }

// Strangers returns why each of a client's masters casts no vote for it; nil: it may. It is for clients without fencing,
// which may spell addresses in their own way. Quorums of a part of a set, or of masters of several sets, need not share a
// master with those of other clients. So votes count from distinct members of one set that has as many members as the
// client has masters, and from masters that show no set. Errors match ErrOther.
func Strangers(shown []Shown, maxTTL time.Duration) []error {
	why, sets, marks := make([]error, len(shown)), make([]Set, len(shown)), make([]Mark, len(shown))
	for i, s := range shown {
		switch set, err := ParseSet(s.Set); {
		case s.Set == "":
		case err != nil:
			why[i] = fmt.Errorf("%w: %w", ErrOther, err)
		case len(set.Members) != len(shown):
			why[i] = fmt.Errorf("%w: number of Masters: here %d, at the master %d: %v; name these, or give the set up (cmd/muxlock/RUNBOOK.md)", ErrOther, len(shown), len(set.Members), set.Members)
		case maxTTL.Milliseconds() > set.MaxTTL.Milliseconds():
			why[i] = fmt.Errorf("%w: MaxTTL: here %v, at the master %v; shorten it, or give the set up (cmd/muxlock/RUNBOOK.md)", ErrOther, maxTTL, set.MaxTTL)
		default:
			sets[i], marks[i] = set, ParseMark(s.Mark)
		}
	}
	ours := mostShown(sets)
	for i, s := range sets {
		twin := false // another master has the same mark, and more right to it
		for j, other := range marks {
			same := j != i && other.Member == marks[i].Member && sets[j].ID == s.ID
			twin = twin || same && (other.RunID == shown[j].RunID || marks[i].RunID != shown[i].RunID)
		}
		switch member := marks[i].Member; {
		case s.Generation == Preparing: // or it shows none: another set may still take its place
		case s.ID != ours.ID:
			why[i] = fmt.Errorf("%w: is a member of another set, of %v", ErrOther, s.Members)
		case member == "": // a mark that nobody believes
		case !slices.Contains(ours.Members, member):
			why[i] = fmt.Errorf("%w: is member %s of a set whose members are %v by now", ErrOther, member, ours.Members)
		case twin:
			why[i] = fmt.Errorf("%w: has the data of member %s, like another master", ErrOther, member)
		}
	}
	return why
}

// mostShown returns the set that most masters show, in its newest generation; no ID: there is no such set.
func mostShown(sets []Set) (most Set) {
	count := make(map[string]int)
	for _, s := range sets {
		if s.Generation > Preparing {
			count[s.ID]++
		}
	}
	for _, s := range sets {
		if count[s.ID] > count[most.ID] || s.ID == most.ID && s.Generation > most.Generation {
			most = s
		}
	}
	for id, n := range count {
		if id != most.ID && n == count[most.ID] {
			return Set{}
		}
	}
	return most
}
