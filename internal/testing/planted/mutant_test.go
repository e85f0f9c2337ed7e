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

func TestMutantsFollowFromRules(t *testing.T) {
	dir := t.TempDir()
	source := "package p\n\nconst c = 3\n\nfunc (s *S[T]) f(a int) bool {\n\tif s.ok && a < 2 {\n\t\ts.n = a\n\t\ts.n = a\n\t}\n\t_ = a\n\tvar _ [4]int\n\treturn true\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600))
	all, err := mutantsOf(dir, "p.go")
	require.NoError(t, err)
	var names []string
	for _, m := range all {
		names = append(names, m.name)
		require.NotEqual(t, source, m.text, m.name)
	}
	require.Equal(t, []string{
		". S.f: if s.ok «&&→||» a < 2 {", ". S.f: if «→!»s.ok && a < 2 {", ". S.f: if s.ok && a «<→<=» 2 {", ". S.f: if s.ok && a «<→>=» 2 {", ". S.f: if s.ok && a < «2→(2+1)» {",
		". S.f: «s.n = a→»", ". S.f: «s.n = a→» (2)", ". S.f: return «true→false»",
	}, names)
}

func TestEachExplainedMutantIsThere(t *testing.T) {
	if testing.Short() {
		t.Skip("texts")
	}
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
		pkg, _, _ := strings.Cut(name, " ")
		some, err := subject{files: pkg + "/*.go"}.mutants(top, name) // of a package that is no subject, too
		require.NoError(t, err)
		names[name] = names[name] || len(some) > 0
		require.True(t, names[name], name)
		require.NotEmpty(t, reason, name)
	}
}
