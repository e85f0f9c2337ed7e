package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const internal = "muxlock/cmd/lockbench/internal/"

// ladders are the packages on the way of a result, and on the way of a command. A package imports
// only from earlier floors of its ladder.
var ladders = [][][]string{
	{{"result"}, {"view"}, {"text", "html"}, {"live"}},
	{{"result"}, {"plan"}, {"session"}},
}

// upward returns the imports that go against a ladder; each line has a package and its import.
func upward(imports []string) (wrong []string) {
	for _, line := range imports {
		from, to, _ := strings.Cut(line, " ")
		for _, floors := range ladders {
			floor := func(pkg string) int {
				return slices.IndexFunc(floors, func(on []string) bool { return slices.Contains(on, strings.TrimPrefix(pkg, internal)) })
			}
			if above, below := floor(from), floor(to); above >= 0 && below >= above {
				wrong = append(wrong, line)
			}
		}
	}
	return wrong
}

func TestPackagesImportDownwards(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, internal+"...").Output()
	require.NoError(t, err)
	imports := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Contains(t, imports, internal+"html "+internal+"view")
	require.Empty(t, upward(imports))
	planted := []string{internal + "result " + internal + "view", internal + "html " + internal + "text", internal + "view " + internal + "html", internal + "plan " + internal + "session"}
	require.Equal(t, planted, upward(append(planted, internal+"html "+internal+"result", internal+"live "+internal+"view", internal+"session "+internal+"plan")))
}
