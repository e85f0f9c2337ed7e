package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachExplainedMutantIsThere(t *testing.T) {
	names, count := make(map[string]bool), 0
	for _, s := range subjects {
		some, err := s.mutants(top, "")
		require.NoError(t, err)
		t.Log(s.files, len(some))
		for _, m := range some {
			_, err := parser.ParseFile(token.NewFileSet(), m.file, m.text, parser.SkipObjectResolution)
			require.NoError(t, err, m.name)
			names[m.name] = true
		}
		count += len(some)
	}
	require.Len(t, names, count, "each mutant has a name of its own")
	for line := range strings.Lines(explained) {
		name, reason, _ := strings.Cut(strings.TrimSpace(line), " | ")
		require.True(t, names[name], name)
		require.NotEmpty(t, reason, name)
	}
}
