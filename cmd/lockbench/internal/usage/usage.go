// Package usage has the error for a mistake in a command line: nothing was started.
package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Error is a mistake in the command line.
type Error struct{ Err error }

func (e Error) Error() string { return e.Err.Error() }
func (e Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf for an Error.
func Errorf(format string, args ...any) error {
	return Error{fmt.Errorf(format, args...)}
}

// Near returns "; did you mean NAME?" with the names that are near to typed, as cobra does for
// commands. Each name has the prefix. The text is empty if no name is near.
func Near(typed, prefix string, names []string) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		all.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	near := all.SuggestionsFor(typed)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}
