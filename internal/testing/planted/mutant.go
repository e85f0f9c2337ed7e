package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// swaps are the operators that may replace an operator.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.AND: {token.OR}, token.OR: {token.AND}, token.AND_NOT: {token.AND},
	token.INC: {token.DEC}, token.DEC: {token.INC}, token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// others are the names that may replace a name.
var others = map[string]string{"min": "max", "max": "min", "true": "false", "false": "true"}

// A mutant is a file with one change.
type mutant struct {
	file, text string
	name       string // package, function and line with «before→after»; line numbers would move
}

// A mutator finds the mutants of one file.
type mutator struct {
	file, text string
	set        *token.FileSet
	function   string // the function being visited
	all        []mutant
	known      map[string]int // how many mutants have the name
}

// mutantsOf returns the mutants of a file, always in the same order. An operator, min, max, true or false is replaced by
// another; a number in a function is one more; a condition is negated; an assignment or a call is left out. Values of constants
// stay, because a test would only repeat the value.
func mutantsOf(top, file string) ([]mutant, error) {
	text, err := os.ReadFile(filepath.Join(top, file))
	if err != nil {
		return nil, err
	}
	m := mutator{file: file, text: string(text), set: token.NewFileSet(), known: make(map[string]int)}
	tree, err := parser.ParseFile(m.set, file, text, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		if f, is := d.(*ast.FuncDecl); is {
			m.function = f.Name.Name
			if f.Recv != nil {
				m.function = receiver(f.Recv.List[0].Type) + "." + m.function
			}
			ast.Inspect(f, m.visit)
		}
	}
	return m.all, nil
}

// receiver returns the name of a receiver's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return "?"
}

// visit adds the mutants of one node.
func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		m.swap(n.OpPos, n.Op)
		if n.Op == token.LAND || n.Op == token.LOR {
			m.negate(n.X)
			m.negate(n.Y)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			m.replace(n.OpPos, n.X.Pos(), "")
		}
	case *ast.IncDecStmt:
		m.swap(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		m.swap(n.TokPos, n.Tok)
		if blank, is := n.Lhs[0].(*ast.Ident); n.Tok == token.ASSIGN && (!is || blank.Name != "_") {
			m.replace(n.Pos(), n.End(), "")
		}
	case *ast.ExprStmt:
		m.replace(n.Pos(), n.End(), "")
	case *ast.BranchStmt:
		m.swap(n.TokPos, n.Tok)
	case *ast.IfStmt:
		m.negate(n.Cond)
	case *ast.ForStmt:
		m.negate(n.Cond)
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			for _, condition := range c.(*ast.CaseClause).List {
				if n.Tag == nil {
					m.negate(condition)
				}
			}
		}
	case *ast.Ident:
		if to, is := others[n.Name]; is {
			m.replace(n.Pos(), n.End(), to)
		}
	case *ast.ArrayType:
		return false // more room changes nothing
	case *ast.BasicLit:
		if n.Kind == token.INT || n.Kind == token.FLOAT {
			m.replace(n.Pos(), n.End(), "("+n.Value+"+1)")
		}
	}
	return true
}

func (m *mutator) swap(at token.Pos, op token.Token) {
	for _, to := range swaps[op] {
		m.replace(at, at+token.Pos(len(op.String())), to.String())
	}
}

// negate adds the mutant of a condition without an operator. Operators have mutants of their own.
func (m *mutator) negate(condition ast.Expr) {
	switch condition.(type) {
	case *ast.CallExpr, *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
		m.replace(condition.Pos(), condition.Pos(), "!")
	}
}

// replace adds the mutant with another text from begin to end.
func (m *mutator) replace(begin, end token.Pos, to string) {
	from, till := m.set.Position(begin).Offset, m.set.Position(end).Offset
	line := strings.LastIndex(m.text[:from], "\n") + 1
	rest, _, _ := strings.Cut(m.text[till:], "\n")
	change := m.text[line:from] + "«" + m.text[from:till] + "→" + to + "»" + rest
	name := fmt.Sprintf("%s %s: %s", filepath.Dir(m.file), m.function, strings.Join(strings.Fields(change), " "))
	if m.known[name]++; m.known[name] > 1 {
		name += fmt.Sprintf(" (%d)", m.known[name])
	}
	m.all = append(m.all, mutant{m.file, m.text[:from] + to + m.text[till:], name})
}
