package engine

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goList returns the lines of go list, or skips where there is no go command.
func goList(t testing.TB, args ...string) []string {
	t.Helper()
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
			"muxlock/internal/address", "muxlock/internal/clock", "muxlock/internal/fencing", "muxlock/internal/findings", "muxlock/internal/oneline", "muxlock/internal/peaks", "muxlock/internal/quorum", "muxlock/internal/redlock", "muxlock/internal/resp", "muxlock/internal/serverinfo", "muxlock/internal/testhook", "muxlock/internal/token", "muxlock/internal/wallclock",
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

// upward returns the imports that go against the arrows bench -> engine -> pipeline ->
// scripts, with the pure packages below all of them.
func upward(imports []string) (wrong []string) {
	layers := map[string]int{"muxlock/bench": 5, "muxlock/engine": 4, "muxlock/internal/findings": 3, "muxlock/pipeline": 2, "muxlock/scripts": 1,
		"muxlock/internal/address": 0, "muxlock/internal/fencing": 0, "muxlock/internal/peaks": 0, "muxlock/internal/quorum": 0, "muxlock/internal/redlock": 0, "muxlock/internal/serverinfo": 0, "muxlock/internal/token": 0, "muxlock/internal/clock": 0, "muxlock/internal/resp": 0, "muxlock/internal/stats": 0, "muxlock/internal/testhook": 0, "muxlock/internal/oneline": 0, "muxlock/internal/wallclock": 0}
	for _, line := range imports {
		from, to, _ := strings.Cut(line, " ")
		below, known := layers[to]
		above, layered := layers[from]
		if layered && strings.HasPrefix(to, "muxlock/") && (!known || below >= above) {
			wrong = append(wrong, line)
		}
	}
	return wrong
}

func TestImportsPointDownwards(t *testing.T) {
	imports := goList(t, "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, "muxlock/...")
	require.Contains(t, imports, "muxlock/engine muxlock/pipeline")
	require.Contains(t, imports, "muxlock/pipeline muxlock/scripts")
	require.Empty(t, upward(imports))
	planted := []string{"muxlock/pipeline muxlock/engine", "muxlock/scripts muxlock/pipeline", "muxlock/scripts muxlock/internal/x",
		"muxlock/engine muxlock/internal/redistest", "muxlock/internal/quorum muxlock/internal/clock"}
	require.Equal(t, planted, upward(append(planted, "muxlock/bench muxlock/engine", "muxlock/engine context")))
}
