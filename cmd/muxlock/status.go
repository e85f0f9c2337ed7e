package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/groups"
	"muxlock/internal/limits"
	"muxlock/internal/quorum"
	"muxlock/internal/usage"
)

// Verdicts of status.
const (
	isHeld    = "held"
	isFree    = "free"
	isSplit   = "split"
	isUnknown = "unknown"
)

func statusCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show who holds a lock, on which masters, and for how long",
		Long: `Asks all masters side by side, and changes nothing. A lock's value is a secret, so status
shows its hash. The same value on several masters is the same holder. Permits of NAME that are
taken follow in a table of their own. Of a name that moves between two groups of masters, status
and ls show the group that has it.

Verdicts and exit codes are about the lock, not about permits:
  held     0  a majority of the masters has the same value
  free     3  a majority has no value
  split    4  neither: several contenders came at once, or masters have lost a value
  unknown  1  too few masters answered, or the key holds something else than a lock
The exit code is also 1 if it is not known who has permits.
LEFT is how long a majority will keep the value unless the holder renews it.

A held lock that a master lacks (it answered, and has no or another value) may not outlast
the restart of another master. Status names such masters, and says whether they vote on new
locks, as clients with the same settings see it (--fencing). A lock that is renewed regains a
master once it votes.`,
		Example: `  muxlock status jobs/nightly
  muxlock status -o json jobs/nightly | jq -r .holder`,
		Args:              usage.Args(oneName),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			locks, i, err := inspect(cmd.Context(), s.groupsConfig, args[0])
			if locks == nil {
				return err
			}
			defer locks.Close()
			v := stateOf(i, err)
			v.noteVotes(locks.Stats().Masters)
			var unknown []error
			v.Permits, unknown = lookAt(cmd.Context(), locks, slotsOf(args[0], limits.Permits))
			err = cmp.Or(err, cmp.Or(unknown...))
			if err := s.write(cmd.OutOrStdout(), v); err != nil {
				return err
			}
			if code := map[string]int{isFree: exitFree, isSplit: exitSplit}[v.Verdict]; code != 0 && err == nil {
				return usage.Exitf(code, "")
			}
			return err
		},
	}
	s.output.declare(cmd)
	return cmd
}

// oneName requires exactly one argument, NAME.
func oneName(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("NAME is missing")
	case len(args) > 1:
		return fmt.Errorf("one NAME at a time, got %q", args)
	}
	return nil
}

// inspect asks the masters about a name. The engine is nil if the masters could not be asked. Otherwise the caller
// closes the engine, and err says which part of the answer is missing.
func inspect(ctx context.Context, config func() (groups.Config, error), name string) (locks *engine.Engine, i admin.Inspection, err error) {
	cfg, err := config()
	cfg.ReadOnly = true
	if err == nil {
		locks, err = connect(ctx, cfg, name)
	}
	if err != nil {
		return nil, i, err
	}
	if i, err = admin.Inspect(ctx, locks, name); len(i.Masters) == 0 {
		locks.Close()
		return nil, i, err
	}
	return locks, i, err
}

// judged is what status and ls say of a lock or a permit.
type judged struct {
	Name    shownName `json:"name"`
	Verdict string    `json:"verdict"`
	Readers int       `json:"readers"` // 0: a writer holds it, or nobody
	Holder  string    `json:"holder"`
	LeftMs  *int64    `json:"left_ms"` // null: not held, or never expires
}

// state is the result of status, and its JSON.
type state struct {
	SchemaVersion int `json:"schema_version"`
	judged
	Waiting int      `json:"waiting"` // processes in line
	Next    string   `json:"next"`    // the holder that the first of them will be
	Masters []holds  `json:"masters"`
	Permits []listed `json:"permits"` // those that are taken
}

// holds is the answer of one master.
type holds struct {
	Address string `json:"address"`
	State   string `json:"state"` // held, free or unknown
	Readers int    `json:"readers"`
	Value   string `json:"value"` // a hash
	Holder  string `json:"holder"`
	LeftMs  *int64 `json:"left_ms"`
	Error   string `json:"error"`

	ReaderList []reader `json:"reader_list"`

	Lacks     bool   `json:"lacks"`       // it answered, and has not the value, or not all readers, that a majority has
	Votes     bool   `json:"votes"`       // on new locks
	VotesInMs *int64 `json:"votes_in_ms"` // null: it votes, or it is not known when it will
	NoVote    string `json:"no_vote"`     // why it does not vote
}

// A reader is one of those who share a name at a master.
type reader struct {
	Value  string `json:"value"` // a hash
	Holder string `json:"holder"`
}

// all returns the value and its holder, or those of all readers.
func (h holds) all() []reader {
	if len(h.ReaderList) == 0 {
		return []reader{{h.Value, h.Holder}}
	}
	return h.ReaderList
}

// stateOf judges an inspection, whose error is err.
func stateOf(i admin.Inspection, err error) state {
	v := state{SchemaVersion: 1, judged: judged{shownName(i.Name), isSplit, i.Readers, i.Holder, milliseconds(i.Held, i.Left)}, Waiting: i.Waiting, Next: i.Next}
	free := 0
	for _, m := range i.Masters {
		h := holds{Address: m.Address, State: isHeld, Readers: len(m.Readers), Value: m.Value, Holder: m.Holder, LeftMs: milliseconds(m.Value != "", m.Left), ReaderList: []reader{}}
		for _, r := range m.Readers {
			h.ReaderList = append(h.ReaderList, reader(r))
		}
		switch {
		case m.Err != nil:
			h.State, h.Error = isUnknown, plain(m.Err.Error())
		case m.Value == "":
			h.State = isFree
			free++
		}
		v.Masters = append(v.Masters, h)
	}
	v.noteLacking()
	switch {
	case err != nil:
		v.Verdict = isUnknown
	case i.Held:
		v.Verdict = isHeld
	case free >= quorum.Size(len(i.Masters)):
		v.Verdict = isFree
	}
	return v
}

// noteLacking notes which masters lack the value, or a reader, that a majority has.
func (v *state) noteLacking() {
	on := map[string]int{} // number of masters that have a value
	for _, m := range v.Masters {
		for _, r := range m.all() {
			on[r.Value]++
		}
	}
	delete(on, "")
	for n, m := range v.Masters {
		for value, count := range on {
			if count >= quorum.Size(len(v.Masters)) && m.State != isUnknown && !slices.ContainsFunc(m.all(), func(r reader) bool { return r.Value == value }) {
				v.Masters[n].Lacks = true
			}
		}
	}
}

// noteVotes notes which masters vote.
func (v *state) noteVotes(masters []engine.MasterStats) {
	for _, m := range masters {
		n := slices.IndexFunc(v.Masters, func(h holds) bool { return h.Address == m.Address })
		switch {
		case n < 0: // it is of another group
		case m.Cause == nil:
			v.Masters[n].Votes = true
		default:
			v.Masters[n].VotesInMs = milliseconds(!m.VotesFrom.IsZero(), max(0, time.Until(m.VotesFrom)))
			v.Masters[n].NoVote = plain(m.Cause.Error())
		}
	}
}

// milliseconds returns the time left; nil for a lock that is not held or never expires.
func milliseconds(held bool, left time.Duration) *int64 {
	if !held || left == admin.NoExpiry {
		return nil
	}
	ms := left.Milliseconds()
	return &ms
}

// by says who holds the name; "": nobody, or it is not known.
func (j judged) by() string {
	switch {
	case j.Readers == 0:
		return j.Holder
	case j.Readers == 1 && j.Holder == "":
		return "a reader"
	case j.Readers == 1:
		return "a reader, " + j.Holder
	case j.Holder == "":
		return fmt.Sprintf("%d readers", j.Readers)
	}
	return fmt.Sprintf("%d readers, one of them %s", j.Readers, j.Holder)
}

// plural returns what goes with n.
func plural(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

func (v state) text(w io.Writer) {
	on := 0
	for _, m := range v.Masters {
		if m.State == isHeld && !m.Lacks {
			on++
		}
	}
	held := heldOf(v.Permits)
	if held > 0 && v.Verdict == isFree {
		fmt.Fprintf(w, "no lock on %s", v.Name)
	} else {
		fmt.Fprintf(w, "%s is %s", v.Name, v.Verdict)
	}
	switch {
	case v.Verdict == isHeld:
		fmt.Fprintf(w, " on %d of %d masters", on, len(v.Masters))
		if by := v.by(); by != "" {
			fmt.Fprintf(w, " by %s", by)
		}
		if v.LeftMs != nil {
			fmt.Fprintf(w, ", for %s unless it is renewed", shownLeft(v.LeftMs))
		}
		what := "it"
		if v.Readers > 0 {
			what = "a reader"
		}
		for _, m := range v.Masters {
			votes := "does not vote"
			switch {
			case !m.Lacks:
				continue
			case m.Votes:
				votes = "votes"
			case m.VotesInMs != nil:
				votes = "votes in " + shownLeft(m.VotesInMs)
			}
			fmt.Fprintf(w, "; %s lacks %s, and %s", m.Address, what, votes)
		}
	case on > 0 && v.Verdict != isUnknown:
		fmt.Fprintf(w, ", although %d of %d masters have a value", on, len(v.Masters))
	}
	if v.Waiting > 0 {
		fmt.Fprintf(w, "; %d in line", v.Waiting)
	}
	if v.Next != "" {
		fmt.Fprintf(w, ", next %s", v.Next)
	}
	if held > 0 {
		fmt.Fprintf(w, "; %d %s held", held, plural(held, "permit", "permits"))
	}
	fmt.Fprintln(w)
	rows := [][]string{{"MASTER", "STATE", "VALUE", "LEFT", "HOLDER"}}
	for _, m := range v.Masters {
		left := shownLeft(m.LeftMs)
		if m.State == isHeld && m.LeftMs == nil {
			left = "ever"
		}
		for _, r := range m.all() {
			rows = append(rows, []string{m.Address, m.State, r.Value, left, cmp.Or(m.Error, r.Holder)})
		}
	}
	table(w, rows)
	writePermits(w, v.Permits)
}

// shownLeft is the time left, rounded up to a tenth of a second; "": there is none.
func shownLeft(ms *int64) string {
	if ms == nil {
		return ""
	}
	const tenth = 100 * time.Millisecond
	return (time.Duration(*ms)*time.Millisecond + tenth - 1).Truncate(tenth).String()
}

// A shownName is a NAME, for output.
type shownName string

// String quotes a name if it could not be printed and pasted as it is.
func (n shownName) String() string {
	name := string(n)
	if name != printable(name) || strings.ContainsAny(name, " \"") {
		return strconv.Quote(name)
	}
	return name
}

// MarshalText gives JSON the name as it is. Since JSON has only UTF-8, another name is quoted.
func (n shownName) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return []byte(n), nil
	}
	return []byte(n.String()), nil
}
