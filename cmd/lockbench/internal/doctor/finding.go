// Package doctor looks for what makes locks on given masters unsafe or slow, before
// anybody relies on them.
//
// Examine collects facts, master by master, and this machine's; the judgement over
// them is pure and works on what was collected. Nothing on a master is changed, but
// for the engine's own trial lock: one key of a random name, that is released again
// and would expire after a second or two.
package doctor

import (
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

// grouped puts findings that say the same of several masters into one, at the place of
// the first.
func grouped(all []Finding) []Finding {
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
