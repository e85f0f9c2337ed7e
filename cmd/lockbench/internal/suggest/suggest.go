// Package suggest names what somebody may have meant.
package suggest

import (
	"strings"

	"github.com/spf13/cobra"
)

// Near is "; did you mean NAME?", with prefix before each name, of the names that are near to
// what was typed, as cobra does for commands; empty if none is.
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
