package main

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The code that a fault changes may have gone: the fault must follow it.
func TestEachFaultHasItsPlaceInTheCode(t *testing.T) {
	seen := make(map[string]bool)
	require.GreaterOrEqual(t, len(faults()), 40)
	for _, f := range faults() {
		files, err := f.planted("../../..")
		if err != nil {
			t.Errorf("%s: %v", f.what, err)
			continue
		}
		require.False(t, seen[f.file+f.new+f.old], "%s is there twice", f.what)
		seen[f.file+f.new+f.old] = true
		for name, text := range files {
			if filepath.Ext(name) == ".go" {
				_, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
				require.NoError(t, err, f.what)
			} else {
				require.NotEqual(t, files["scripts/scripts.go"], "")
			}
		}
	}
}
