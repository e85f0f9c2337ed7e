package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"muxlock/internal/oneline"
)

// Level is how bad a finding is: the higher, the worse. It prints as OK, ?, WARN or FAIL, in JSON too.
type Level int

// Levels of a finding.
const (
	LevelOK      Level = iota
	LevelUnknown       // it could not be found out; mostly for want of a permission
	LevelWarn          // slow, or safe only as long as something else holds
	LevelFail          // no lock should rely on it
)

var levels = [...]string{"OK", "?", "WARN", "FAIL"}

// String returns the name, or the number of a Level that is none of these.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levels) {
		return fmt.Sprintf("Level(%d)", int(l))
	}
	return levels[l]
}

// MarshalJSON writes the name.
func (l Level) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }

// A Finding is one thing that Check looked at.
type Finding struct {
	Level   Level  `json:"level"`
	Check   string `json:"check"`          // what was looked at, in a word or two, for programs: "eviction"
	Masters []int  `json:"masters"`        // places in Config.Masters, from 1; empty: all of them together
	Text    string `json:"text"`           // what was found
	ToDo    string `json:"todo,omitempty"` // what helps, if anything has to be done
}

// Report is what Check found. Masters of which the same is found share a finding.
type Report struct {
	Findings []Finding
	masters  int
}

// Add adds findings of the caller's own, as muxlock doctor does. Findings that differ only in their Masters become one.
func (r *Report) Add(found ...Finding) { r.Findings = grouped(append(r.Findings, found...)) }

// Err returns nil if a service may rely on the masters, else an error that matches ErrUnfit and
// has every finding at LevelFail.
func (r Report) Err() error {
	var failed []error
	for _, f := range r.Findings {
		if f.Level == LevelFail {
			failed = append(failed, fmt.Errorf("%s (master %s): %s -> %s", f.Check, f.Who(r.masters), f.Text, f.ToDo))
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnfit, oneline.Join(failed...))
}

// Who names the masters of a finding, of so many: "-", "all", "1-3" or "1,4".
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

// grouped puts findings that say the same of several masters into one, at the place of
// the first.
func grouped(all []Finding) []Finding {
	groups := []Finding{}
	for _, f := range all {
		i := slices.IndexFunc(groups, func(g Finding) bool {
			return g.Level == f.Level && g.Check == f.Check && g.Text == f.Text && g.ToDo == f.ToDo
		})
		if i < 0 {
			f.Masters = append([]int{}, f.Masters...) // not nil: an empty list in JSON
			groups = append(groups, f)
		} else {
			groups[i].Masters = append(groups[i].Masters, f.Masters...)
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
