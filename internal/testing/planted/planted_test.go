package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const top = "../../.."

// What a fault changes may have moved or gone: the fault must follow it. So must the names of tests.
func TestEachFaultHasItsPlaceInTheCodeAndATestThatIsThere(t *testing.T) {
	seen := make(map[string]bool)
	sources := make(map[string]string) // of a package's tests
	for _, f := range faults() {
		require.False(t, seen[f.what], "%s: twice", f.what)
		seen[f.what] = true
		files, err := f.planted(top)
		if err != nil {
			t.Errorf("%s: %v", f.what, err)
			continue
		}
		if filepath.Ext(f.file) == ".go" {
			_, err := parser.ParseFile(token.NewFileSet(), f.file, files[f.file], 0)
			require.NoError(t, err, f.what)
		} else {
			require.Contains(t, files[constants], sha1Of(files[f.file]), f.what)
		}
		for pkg, pattern := range f.named() {
			if sources[pkg] == "" {
				sources[pkg] = sourceOf(t, pkg)
			}
			for _, name := range strings.Split(pattern, "|") {
				require.Contains(t, sources[pkg], "\nfunc "+name+"(", f.what)
			}
		}
	}
	require.GreaterOrEqual(t, len(seen), 40)
}

func sourceOf(t *testing.T, pkg string) (text string) {
	names, err := filepath.Glob(filepath.Join(top, pkg, "*_test.go"))
	require.NoError(t, err)
	for _, name := range names {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		text += string(source)
	}
	return text
}

func TestPartsShareAllFaults(t *testing.T) {
	var all []fault
	for _, p := range []string{"1/3", "2/3", "3/3"} {
		some, err := chosen(p, "")
		require.NoError(t, err)
		all = append(all, some...)
	}
	require.ElementsMatch(t, faults(), all)
	for _, p := range []string{"", "0/3", "4/3", "3"} {
		_, err := chosen(p, "")
		require.Error(t, err, p)
	}
}

func TestAFaultThatIsNotInTheCodeIsRefused(t *testing.T) {
	for _, old := range []string{"fault", "no such text"} { // more than once, and never
		_, err := fault{file: "internal/testing/planted/doc.go", old: old}.planted(top)
		require.Error(t, err, old)
	}
}
