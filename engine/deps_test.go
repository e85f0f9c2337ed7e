package engine

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// goList returns the lines of go list, or skips where there is no go command.
func goList(t testing.TB, args ...string) []string {
	t.Helper()
	redistest.NeedProcess(t)
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	out, err := exec.Command(path, append([]string{"list"}, args...)...).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// foreign returns the packages that an embedder of engine may not be made to depend on.
func foreign(packages []string) []string {
	return slices.DeleteFunc(packages, func(p string) bool {
		return p == "" || slices.ContainsFunc([]string{
			"muxlock/engine", "muxlock/pipeline", "muxlock/scripts",
			"muxlock/internal/address", "muxlock/internal/clock", "muxlock/internal/fencing", "muxlock/internal/guard", "muxlock/internal/limits", "muxlock/internal/line", "muxlock/internal/oneline", "muxlock/internal/peaks", "muxlock/internal/quorum", "muxlock/internal/redlock", "muxlock/internal/resp", "muxlock/internal/serverinfo", "muxlock/internal/token",
			"github.com/redis/rueidis", "github.com/valyala/fastrand", "golang.org/x/sync", "golang.org/x/sys",
		}, func(allowed string) bool { return p == allowed || strings.HasPrefix(p, allowed+"/") })
	})
}

func TestEmbeddersOfEngineGetFewDependencies(t *testing.T) {
	packages := goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "muxlock/engine")
	require.Contains(t, packages, "github.com/redis/rueidis")
	require.Empty(t, foreign(packages))
	require.Equal(t, []string{"github.com/redis/go-redis", "muxlock/bench"},
		foreign([]string{"muxlock/engine", "github.com/redis/go-redis", "muxlock/bench"}), "the check sees a foreign one")
}

// floors are the packages of this module, from the ground up. One imports from lower floors only, so
// that those of one floor do not know each other. CONTRIBUTING.md has the same picture.
var floors = [][]string{
	{"internal/limits"},
	{"internal/address", "internal/child", "internal/clock", "internal/fencing", "internal/fold", "internal/line", "internal/oneline", "internal/peaks", "internal/quorum", "internal/redlock",
		"internal/resp", "internal/serverinfo", "internal/stats", "internal/token", "internal/usage", "internal/wallclock"},
	{"internal/guard", "internal/wire", "engine/internal/events", "engine/internal/hot", "engine/internal/turn"},
	{"scripts", "internal/faultproxy", "internal/redisserver"},
	{"pipeline/internal/conn", "internal/redisfake"},
	{"pipeline/internal/wakeup", "pipeline/internal/membership", "pipeline/internal/pending", "pipeline/internal/pace"},
	{"pipeline"},
	{"engine/internal/inside"},
	{"engine"},
	{"engine/admin"},
	{"bench", "engine/enginetest", "engine/fence", "engine/groups", "engine/internal/metrics", "engine/lockdebug", "engine/redsync"},
	{"internal/probe"},
	{"engine/lockotel", "engine/lockprom", "cmd"},
	{"internal/testing", "engine/servertest"}, // no product imports it, nor the next
	{"internal/testing/sim"},
}

// floorOf returns the floor of a package of this module, -1 where none is meant.
func floorOf(path string) int {
	floor, longest := -1, 0
	for i, names := range floors {
		for _, name := range names {
			if (path == "muxlock/"+name || strings.HasPrefix(path, "muxlock/"+name+"/")) && len(name) > longest {
				floor, longest = i, len(name)
			}
		}
	}
	return floor
}

// upward returns the imports that do not go down, but within a program.
func upward(imports []string) (wrong []string) {
	for _, line := range imports {
		from, to, _ := strings.Cut(line, " ")
		inProgram := strings.HasPrefix(from, "muxlock/cmd/") && strings.HasPrefix(to, "muxlock/cmd/")
		if above, below := floorOf(from), floorOf(to); strings.HasPrefix(to, "muxlock/") && !inProgram && (above < 0 || below < 0 || below >= above) {
			wrong = append(wrong, line)
		}
	}
	return wrong
}

func TestImportsPointDownwards(t *testing.T) {
	t.Parallel()
	imports := goList(t, "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, "muxlock/...")
	require.Contains(t, imports, "muxlock/engine muxlock/pipeline")
	require.Contains(t, imports, "muxlock/pipeline muxlock/scripts")
	require.Empty(t, upward(imports))
	planted := []string{"muxlock/pipeline muxlock/engine", "muxlock/scripts muxlock/pipeline", "muxlock/scripts muxlock/internal/x", "muxlock/new muxlock/engine",
		"muxlock/engine muxlock/internal/testing/redistest", "muxlock/cmd/muxlock muxlock/internal/testing/redistest", "muxlock/internal/quorum muxlock/internal/clock"}
	require.Equal(t, planted, upward(append(planted, "muxlock/bench muxlock/engine", "muxlock/engine context", "muxlock/cmd/muxlock/a muxlock/cmd/muxlock/b")))
}

func TestContributingHasThePictureOfTheFloors(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	text, _, _ = bytes.Cut(text, []byte("\n| "))
	picture := [][]string{nil}
	for _, line := range strings.Split(string(text), "\n") {
		top := len(picture) - 1
		switch name := packageLine.FindStringSubmatch(line); {
		case name != nil:
			picture[top] = append(picture[top], name[1])
		case line == "" && picture[top] != nil:
			picture = append(picture, nil)
		}
	}
	slices.Reverse(picture)
	require.Len(t, picture, len(floors)+1)
	for i, names := range floors {
		require.ElementsMatch(t, names, picture[i+1])
	}
}

// packageLine is the line of a package in the picture.
var packageLine = regexp.MustCompile(`^    ([a-z]\S*) `)
