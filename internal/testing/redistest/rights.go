package redistest

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/redisserver"
)

// Rights are the rules of the user in engine/README.md, Rights: those that every lock needs, those that only make
// locks faster, and those for readers, for lines, for fencing and for newer servers.
type Rights struct{ Needed, Faster, Shared, Lines, Fencing, Native []string }

// DocumentedRights reads engine/README.md.
func DocumentedRights(t testing.TB) Rights {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	doc, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../engine/README.md"))
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^    ACL SETUSER locks (.*)$`).FindAllSubmatch(doc, -1)
	require.Len(t, lines, 6)
	rules := func(i int) []string { return strings.Fields(strings.ReplaceAll(string(lines[i][1]), "'", "")) }
	return Rights{rules(0), rules(1), rules(2), rules(3), rules(4), rules(5)}
}

// Grant gives masters the user locks of the documentation, with these rules.
func Grant(t testing.TB, masters []*redisserver.Server, rules ...string) {
	t.Helper()
	for _, m := range masters {
		Command(t, m, append([]string{"ACL", "SETUSER", "locks", "reset"}, rules...)...)
	}
}
