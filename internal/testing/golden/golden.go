// Package golden compares what a test sees with a file of the package's testdata, which `go test -update` writes anew.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata anew")

// Equal fails the test if got is not the text of the file.
func Equal(t testing.TB, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -update makes it anew")
}

// Answers reads a file with one question a line, each with its answer below it, indented, and fails the test if answer
// gives others. Empty lines and those with # at their begin are no questions.
func Answers(t testing.TB, file string, answer func(question string) []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var got []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, " ") {
			continue
		}
		got = append(got, line)
		if line != "" && line[0] != '#' {
			for _, a := range answer(line) {
				got = append(got, "  "+a)
			}
		}
	}
	Equal(t, file, strings.Join(got, "\n"))
}
