package redistest

import (
	"fmt"
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

// NativeRights is those of the commands that the server has; Valkey's has another name.
func NativeRights(t testing.TB, m *redisserver.Server) (has []string) {
	require.Equal(t, []string{"+msetex", "+delex"}, DocumentedRights(t).Native)
	for _, command := range []string{"msetex", "delex", "delifeq"} {
		if Command(t, m, "COMMAND", "INFO", command).([]any)[0] != nil {
			has = append(has, "+"+command)
		}
	}
	return has
}

// Denials returns the sum of the counts in the masters' ACL LOG, and clears it.
func Denials(t testing.TB, masters []*redisserver.Server) (n int64, what string) {
	for _, m := range masters {
		for _, entry := range Command(t, m, "ACL", "LOG", "128").([]any) {
			e := entry.([]any)
			n += e[1].(int64)
			what += fmt.Sprintln(e[1], e[5], e[7])
		}
		Command(t, m, "ACL", "LOG", "RESET")
	}
	return n, what
}
