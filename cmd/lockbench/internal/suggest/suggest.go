// Package suggest finds names like a mistyped one.
package suggest

import (
	"strings"

	"github.com/spf13/cobra"
)

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
