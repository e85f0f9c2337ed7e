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
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				addFunc(found, d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					addSpec(found, s)
				}
			}
		}
	}
	return found
}

func addFunc(found map[string]string, f *ast.FuncDecl) {
	name := f.Name.Name
	if f.Recv != nil {
		receiver := types.ExprString(f.Recv.List[0].Type)
		if !ast.IsExported(strings.TrimPrefix(receiver, "*")) {
			return
		}
		name = receiver + "." + name
	}
	if f.Name.IsExported() {
		found[name] = fmt.Sprint(list(f.Type.Params), list(f.Type.Results))
	}
}

func addSpec(found map[string]string, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				found[name.Name] = "variable"
			}
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		switch kind := s.Type.(type) {
		case *ast.StructType:
			found[s.Name.Name] = "struct"
			for _, field := range kind.Fields.List {
				for _, name := range field.Names {
					if name.IsExported() {
						found[s.Name.Name+"."+name.Name] = types.ExprString(field.Type)
					}
				}
			}
		case *ast.InterfaceType:
			for _, method := range kind.Methods.List {
				f := method.Type.(*ast.FuncType)
				found[s.Name.Name+"."+method.Names[0].Name] = fmt.Sprint(list(f.Params), list(f.Results))
			}
		case *ast.FuncType:
			found[s.Name.Name] = fmt.Sprint(list(kind.Params), list(kind.Results))
		default:
			found[s.Name.Name] = types.ExprString(kind)
		}
	}
}

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
	require.Equal(t, "[]int", real["ErrTaken.Nodes"])
	delete(real, "New") // takes the engine
	for name, kind := range real {
		require.Equal(t, kind, own[name], name)
	}
}
