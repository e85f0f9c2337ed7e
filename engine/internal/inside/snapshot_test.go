package inside

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/token"
)

func TestNamesThatAreShownDiffer(t *testing.T) {
	of := make(map[string]string)
	for _, name := range []string{"a", "\xff", "\xfe", `"\xff"`, "?", "", `""`, "two\nlines", `"two\nlines"`, "\u202e", "<b>"} {
		shown := Shown(name)
		require.True(t, token.Printable(shown), name)
		require.NotContains(t, of, shown, name)
		of[shown] = name
	}
}
