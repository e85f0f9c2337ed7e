package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
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
				name, ours := strings.CutPrefix(pkg, internal)
				return slices.IndexFunc(floors, func(on []string) bool { return ours && slices.Contains(on, name) })
			}
			if above, below := floor(from), floor(to); above >= 0 && below >= above {
				wrong = append(wrong, line)
			}
		}
	}
	return wrong
}

func TestPackagesImportDownwards(t *testing.T) {
	redistest.NeedProcess(t)
	out, err := exec.Command("go", "list", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, internal+"...").Output()
	require.NoError(t, err)
	imports := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Contains(t, imports, internal+"html "+internal+"view")
	require.Empty(t, upward(imports))
	planted := []string{internal + "result " + internal + "view", internal + "html " + internal + "text", internal + "view " + internal + "html", internal + "plan " + internal + "session"}
	require.Equal(t, planted, upward(append(planted, internal+"html "+internal+"result", internal+"live "+internal+"view", internal+"session "+internal+"plan")))
}

// A program that can execute a template keeps every exported method of its types, since templates call methods by name.
// That is 20 MB of commands of Redis clients. Cobra has templates, and links them if one is set.
func TestTheProgramHasNoTemplatesAndNoMatrices(t *testing.T) {
	redistest.NeedProcess(t)
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	large := regexp.MustCompile(`(?m)^(html/template|gonum\.org/v1/gonum/lapack.*)$`)
	require.Empty(t, large.FindAllString(string(out), -1))
	out, err = exec.Command("grep", "-rlE", `"text/template"|Set(Help|Usage|Version)Template\(`, "--include=*.go", "--exclude=*_test.go", ".").Output()
	require.Empty(t, string(out), "%v", err)
}

// Who reads a result, or shows it, needs no lock and no server.
func TestWhatReportImportsKnowsNoRedisClient(t *testing.T) {
	redistest.NeedProcess(t)
	deps := func(packages ...string) (clients []string) {
		args := []string{"list", "-deps"}
		for _, pkg := range packages {
			args = append(args, internal+pkg)
		}
		out, err := exec.Command("go", args...).Output()
		require.NoError(t, err)
		return slices.DeleteFunc(strings.Fields(string(out)), func(pkg string) bool {
			return !slices.Contains([]string{"github.com/redis/rueidis", "github.com/redis/go-redis/v9", "muxlock/engine", internal + "plan"}, pkg)
		})
	}
	require.Empty(t, deps("result", "view", "text", "html", "live"))
	require.Len(t, deps("plan"), 4, "the check sees them")
}
