package redsynctest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// api returns what a package exports: the types of each function, method, field and variable.
func api(t *testing.T, path string) map[string]string {
	t.Helper()
	redistest.NeedProcess(t)
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	require.NoError(t, err)
	found := make(map[string]string)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.FileExports(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				receiver := ""
				if n.Recv != nil {
					receiver = types.ExprString(n.Recv.List[0].Type) + "."
				}
				found[receiver+n.Name.Name] = signature(n.Type)
				return false
			case *ast.ValueSpec:
				for _, name := range n.Names {
					found[name.Name] = "variable"
				}
			case *ast.TypeSpec:
				found[n.Name.Name] = types.ExprString(n.Type)
				if f, is := n.Type.(*ast.FuncType); is {
					found[n.Name.Name] = signature(f)
				}
			}
			return true
		})
	}
	return found
}

// signature returns the types of a function, without names.
func signature(f *ast.FuncType) string { return fmt.Sprint(list(f.Params), list(f.Results)) }

// list returns the types in a list, without names.
func list(fields *ast.FieldList) (kinds []string) {
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		for range max(1, len(f.Names)) {
			kinds = append(kinds, types.ExprString(f.Type))
		}
	}
	return kinds
}

func TestSourceThatUsesRedsyncCompilesWithTheShim(t *testing.T) {
	real, own := api(t, "github.com/go-redsync/redsync/v4"), api(t, "muxlock/engine/redsync")
	require.Equal(t, "[string ...Option] [*Mutex]", real["*Redsync.NewMutex"], "the list has what it should")
	require.Equal(t, "variable", real["ErrFailed"])
	require.Equal(t, "struct{Nodes []int}", real["ErrTaken"])
	delete(real, "New") // takes the engine
	for name, kind := range real {
		require.Equal(t, kind, own[name], name)
	}
}
