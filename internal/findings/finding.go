// Package findings asks masters what they are and judges what makes locks on them unsafe or
// slow: for Engine.Check and muxlock doctor.
//
// Each master is asked by itself; the judgement over the facts is pure. Nothing on a master
// is changed.
package findings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Level of a finding. The higher, the worse.
type Level int

const (
	OK      Level = iota
	Unknown       // it could not be found out; mostly for want of a permission
	Warn          // slow, or safe only as long as something else holds
	Fail          // no lock should rely on it
)

var levels = [...]string{"OK", "?", "WARN", "FAIL"}

func (l Level) String() string { return levels[l] }

// MarshalJSON writes the name.
func (l Level) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }

// Finding is one thing that was looked at.
type Finding struct {
	Level   Level  `json:"level"`   // OK, ?, WARN, FAIL
	Check   string `json:"check"`   // what was looked at, in a word or two
	Masters []int  `json:"masters"` // from 1; empty: all of them together, or this machine
	Text    string `json:"text"`
	ToDo    string `json:"todo,omitempty"`
}

// Who names the masters of a finding.
func (f Finding) Who(of int) string {
	switch n := len(f.Masters); {
	case n == 0:
		return "-"
	case n == of && n > 1:
		return "all"
	case n > 2 && f.Masters[n-1]-f.Masters[0] == n-1:
		return fmt.Sprintf("%d-%d", f.Masters[0], f.Masters[n-1])
	}
	text := ""
	for i, m := range f.Masters {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprint(m)
	}
	return text
}

// Worst level of all.
func Worst(all []Finding) Level {
	worst := OK
	for _, f := range all {
		worst = max(worst, f.Level)
	}
	return worst
}

// Grouped puts findings that say the same of several masters into one, at the place of
// the first.
func Grouped(all []Finding) []Finding {
	groups := []Finding{}
	for _, f := range all {
		i := slices.IndexFunc(groups, func(g Finding) bool {
			return g.Level == f.Level && g.Check == f.Check && g.Text == f.Text && g.ToDo == f.ToDo
		})
		if i < 0 {
			groups = append(groups, f)
		} else {
			groups[i].Masters = append(groups[i].Masters, f.Masters...)
		}
	}
	for i := range groups {
		if groups[i].Masters == nil {
			groups[i].Masters = []int{}
		}
	}
	return groups
}

// inOrder puts findings of one check side by side, checks in the order in which they
// first come.
func inOrder(found []Finding) []Finding {
	first := map[string]int{}
	for i, f := range slices.Backward(found) {
		first[f.Check] = i
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(first[a.Check], first[b.Check]) })
	return found
}
