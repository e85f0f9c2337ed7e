package engine

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// go doc shows of an alias only its comment.
func TestTheCommentOfAnAliasHasTheFieldsOfItsType(t *testing.T) {
	for name, of := range map[string]reflect.Type{
		"MasterError": reflect.TypeFor[MasterError](), "StartError": reflect.TypeFor[StartError](), "NotReadyError": reflect.TypeFor[NotReadyError](),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, fieldsOf(of), fieldsIn(t, aliases(t)[name]))
		})
	}
	for name, text := range aliases(t) {
		require.Contains(t, text, "\ttype "+name+" ", "an alias without its type")
	}
}

// foreignPackage is what a user of this one does not look into.
var foreignPackage = regexp.MustCompile(`\b(pipeline|conn)\.`)

func fieldsOf(of reflect.Type) (fields []string) {
	for f := range of.Fields() {
		fields = append(fields, f.Name+" "+foreignPackage.ReplaceAllString(f.Type.String(), ""))
	}
	return fields
}

// fieldsIn returns the fields of the struct that a comment shows.
func fieldsIn(t *testing.T, text string) (fields []string) {
	for _, block := range new(comment.Parser).Parse(text).Content {
		code, is := block.(*comment.Code)
		if !is {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "", "package engine\n"+code.Text, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if f, is := n.(*ast.Field); is {
				for _, name := range f.Names {
					fields = append(fields, name.Name+" "+types.ExprString(f.Type))
				}
			}
			return true
		})
	}
	return fields
}

// aliases are the comments of the package's exported aliases.
func aliases(t *testing.T) map[string]string {
	found := make(map[string]string)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if d, is := d.(*ast.GenDecl); is && len(d.Specs) == 1 {
				if s, is := d.Specs[0].(*ast.TypeSpec); is && s.Assign.IsValid() && s.Name.IsExported() {
					found[s.Name.Name] = d.Doc.Text()
				}
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}
