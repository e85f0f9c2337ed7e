package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const internal = "muxlock/cmd/lockbench/internal/"

// floors of what a result goes through: each knows those before it, and none beside it or after it.
var floors = [][]string{{"result"}, {"view"}, {"text", "html"}, {"live"}}

// upward returns the imports that go against the floors, of lines of a package and one that it imports.
func upward(imports []string) (wrong []string) {
	floor := func(pkg string) int {
		return slices.IndexFunc(floors, func(on []string) bool { return slices.Contains(on, strings.TrimPrefix(pkg, internal)) })
	}
	for _, line := range imports {
		from, to, _ := strings.Cut(line, " ")
		if above, below := floor(from), floor(to); above >= 0 && below >= above {
			wrong = append(wrong, line)
		}
	}
	return wrong
}

func TestResultViewAndRenderersImportDownwards(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, internal+"...").Output()
	require.NoError(t, err)
	imports := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Contains(t, imports, internal+"html "+internal+"view")
	require.Empty(t, upward(imports))
	planted := []string{internal + "result " + internal + "view", internal + "html " + internal + "text", internal + "view " + internal + "html"}
	require.Equal(t, planted, upward(append(planted, internal+"html "+internal+"result", internal+"live "+internal+"view")))
}
