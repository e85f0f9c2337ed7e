// Package usage has what the programs share about their command lines: mistakes in them, names near to a mistyped one, and
// exit codes. C and E stand for types of cobra and pflag, which this module does not require.
package usage

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a mistake in a command line. Nothing was started or sent.
type Error struct{ Err error }

func (e Error) Error() string { return e.Err.Error() }
func (e Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf for an Error.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Refuse is Errorf if the command line is wrong, and else nil. The first of several rules that is broken is cmp.Or of them.
func Refuse(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return Errorf(format, args...)
}

// Args turns the errors of a check of arguments into usage errors.
func Args[C any](check func(C, []string) error) func(C, []string) error {
	return func(cmd C, args []string) error {
		if err := check(cmd, args); err != nil {
			return Error{err}
		}
		return nil
	}
}

// NoSuchCommand is the check of arguments of a command that has subcommands.
func NoSuchCommand[C interface {
	Name() string
	CommandPath() string
	Commands() []C
}](cmd C, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), Near(args[0], "", names))
}

// Flag turns an error about a flag into a usage error. If that is an E, no flag has the name; names has those of all flags.
func Flag[E interface {
	error
	GetSpecifiedName() string
	GetSpecifiedShortnames() string
}](err error, names []string) error {
	if unknown, ok := errors.AsType[E](err); ok && unknown.GetSpecifiedShortnames() == "" {
		return Errorf("%w%s", err, Near(unknown.GetSpecifiedName(), "--", names))
	}
	return Error{err}
}

// nearMost is the most edits between a name and one that is near.
const nearMost = 2

// Near returns "; did you mean NAME?" with the names that begin with typed or are few edits away from it, each after prefix. It
// returns "" if none is near.
func Near(typed, prefix string, names []string) string {
	var near []string
	for _, name := range names {
		if low, of := strings.ToLower(typed), strings.ToLower(name); strings.HasPrefix(of, low) || edits(low, of) <= nearMost {
			near = append(near, prefix+name)
		}
	}
	if near == nil {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// edits returns how many bytes must be added, removed or replaced to make a into b: the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // of the part of a so far, to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
