package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests hold that RUNBOOK.md has what an operator may see. They read the texts in the source.

func TestRunbookHasEachAlert(t *testing.T) {
	alerts, err := os.ReadFile("../../engine/lockprom/alerts.yaml")
	require.NoError(t, err)
	names := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(alerts), -1)
	require.NotEmpty(t, names)
	links := regexp.MustCompile(`runbook: (\S+)`).FindAllStringSubmatch(string(alerts), -1)
	require.Len(t, links, len(names))
	for i, name := range names {
		require.Contains(t, headings(t), name[1])
		require.Equal(t, "cmd/muxlock/RUNBOOK.md#"+strings.ToLower(name[1]), links[i][1])
	}
}

func TestRunbookHasEachWarningAndErrorOfTheLog(t *testing.T) {
	var all []string
	for _, dir := range []string{"../../engine", "../../pipeline"} {
		for _, file := range goFiles(t, dir) {
			all = append(all, logged(parse(t, file, nil))...)
		}
	}
	require.Contains(t, all, "lock lost")
	require.Contains(t, all, "leader failed")
	require.Contains(t, all, "another map of groups is in use on the same masters: two may hold a lock")
	require.Subset(t, headings(t), all)

	require.Equal(t, []string{"one", "two", "three", "four"}, logged(parse(t, "", `package p
func f() {
	r.logger.Warn("one", "k", 1)
	slog.Error("two")
	r.logger.Info("not")
	q.Log(slog.LevelError, true, "three")
	q.Log(slog.LevelInfo, true, "not")
	_ = []events.Warning{{}, {Text: "elided"}}
	w := events.Warning{Text: "four", Level: slog.LevelWarn}
	x := events.Warning{Text: "not"}
	http.Error(w, "not", 500)
}`)))
}

func TestRunbookHasEachStateOfMastersStatus(t *testing.T) {
	all := states(parse(t, "masters_status.go", nil))
	require.Subset(t, all, []string{"admitted", "not set up", "a replacement was cut", "lost its data", "%v: needs %d members that vote, %d can be asked", "%v, like a majority", "does not vote: %v", "votes in %s"})
	require.Empty(t, missing(all, section(t, "muxlock masters status")))
	require.Equal(t, []string{"down: %v: why"}, missing([]string{"up", "down: %v: why"}, "it is up\nor down: it: so\nwhy"))
}

func TestRunbookHasEachFindingOfDoctor(t *testing.T) {
	var all []finding
	for _, file := range []string{"../../engine/admin/judge.go", "../../engine/admin/check.go", "../../internal/probe/judge.go", "doctor.go"} {
		all = append(all, findings(parse(t, file, nil))...)
	}
	text := section(t, "muxlock doctor")
	rows := map[string]string{}
	for _, row := range strings.Split(text, "\n") {
		if cells := strings.Split(row, " | "); len(cells) > 1 {
			rows[strings.TrimPrefix(cells[0], "| ")] = row
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		seen[f.check] = true
		if f.check != "" {
			require.Contains(t, rows, f.check)
		}
		if row := rows[f.check]; f.bad {
			require.Empty(t, missing([]string{f.text}, map[bool]string{true: text, false: row}[f.check == ""]), f.check)
		}
	}
	require.Subset(t, seen, map[string]bool{"": true, "eviction": true, "vote": true, "start": true, "limits": true, "clock": true, "processors": true, "durable": true})

	require.Equal(t, []finding{
		{"a", "%d of %d", true}, {"b", "none", false}, {"c", "text %v", true}, {"d", "fine", false}, {"e", "no " + "good", true}, {"", "more", true}, {"", "set %v", true}, {"", "right", false}, {"f", "%v", false}, {"g", "elided", true},
	}, findings(parse(t, "", `package p
func f() {
	add(LevelWarn, "a", "todo", "%d of %d", 1, 2)
	add(LevelOK, "b", "", "none")
	refuse("c", "todo", "text %v", 1)
	g(Finding{LevelOK, "d", nil, "fine", "todo"}, admin.Finding{Level: LevelFail, Check: "e", Text: "no " + "good"})
	f.Text += "more"
	f.Level, f.Text = LevelWarn, fmt.Sprintf("set %v", 1)
	f.Level, f.Text = LevelOK, "right"
	_ = Finding{LevelWarn, "f", nil, text, ""}
	return []Finding{{LevelUnknown, "g", nil, "elided", ""}}
}`)))
}

// A cause is looked up by its beginning: its first words that are not of another error or a value.
func TestRunbookHasEachCause(t *testing.T) {
	var all []string
	for _, file := range []string{
		"../../pipeline/hung_master.go", "../../pipeline/member.go", "../../pipeline/probe.go", "../../pipeline/ready.go", "../../pipeline/internal/conn/dial.go",
		"../../internal/serverinfo/serverinfo.go", "../../internal/fencing/set.go", "../../internal/fencing/setup.go", "../../internal/fencing/stranger.go",
	} {
		all = append(all, causes(parse(t, file, nil))...)
	}
	for _, file := range goFiles(t, "../../pipeline/internal/membership") {
		all = append(all, causes(parse(t, file, nil))...)
	}
	require.Subset(t, all, []string{"no answer in time", "is a member of another set", "it needs the registers of", "every master must be up", "set the right user and password", "no vote for another"})
	require.Equal(t, []string{"INFO names no process_id"}, missing(all, runbook(t)), "only tests ask for that one")

	require.Equal(t, []string{"the first words", "set it right", "is none of", "was it", "is gone"}, causes(parse(t, "", `package p
var a = fmt.Errorf("%w: %d: the first words: and more", err, 1)
func f() {
	todo = "set it right"
	refuse("%s is none of %d", a, 1)
	what = "was it " + one
	_ = Restarted(errFoo.Error() + " is gone")
	_ = errors.New("short")
}`)))
}

// runbook is RUNBOOK.md as it is read: without the signs of code, a paragraph or a row on one line.
func runbook(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("RUNBOOK.md")
	require.NoError(t, err)
	return regexp.MustCompile(`([^\n])\n *([^|#\-\s\d])`).ReplaceAllString(strings.NewReplacer("`", "", `\|`, "|").Replace(string(text)), "$1 $2")
}

func headings(t *testing.T) (all []string) {
	t.Helper()
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(runbook(t), -1) {
		all = append(all, h[1])
	}
	return all
}

// section returns a chapter of the runbook.
func section(t *testing.T, name string) string {
	t.Helper()
	_, text, found := strings.Cut(runbook(t), "\n# "+name+"\n")
	require.True(t, found, name)
	text, _, _ = strings.Cut(text, "\n# ")
	return text
}

var (
	verb = regexp.MustCompile(`%[-+#.\d]*[a-z]`)              // what a format has for a value
	ends = regexp.MustCompile(`^%[-+#.\d]*[a-z]|:? ?%[a-z]$`) // values there, of which a page may have others
)

// missing returns the texts, or formats, that do not stand in a line of page.
func missing(texts []string, page string) (not []string) {
	for _, text := range texts {
		parts := verb.Split(ends.ReplaceAllString(text, ""), -1)
		for i, p := range parts {
			parts[i] = regexp.QuoteMeta(p)
		}
		if !regexp.MustCompile(strings.Join(parts, ".+")).MatchString(page) {
			not = append(not, text)
		}
	}
	return not
}

// goFiles are the files below dir that are no tests.
func goFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

func parse(t *testing.T, file string, source any) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	return parsed
}

// each calls visit for all nodes of type N in a file.
func each[N ast.Node](file *ast.File, visit func(N)) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n, ok := n.(N); ok {
			visit(n)
		}
		return true
	})
}

// formatOf returns the format of a text: values and what is not known here are verbs.
func formatOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return formatOf(e.X) + formatOf(e.Y)
	case *ast.CallExpr:
		if nameOf(e.Fun) == "Sprintf" {
			return formatOf(e.Args[0])
		}
	}
	return "%v"
}

// nameOf returns the last name of an expression; "": it has none.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return nameOf(e.X)
	}
	return ""
}

// logged returns the messages that a file logs at WARN or ERROR.
func logged(file *ast.File) (all []string) {
	bad := func(e ast.Expr) bool { return nameOf(e) == "LevelWarn" || nameOf(e) == "LevelError" }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			switch {
			case !ok:
			case f.Sel.Name == "Log" && len(n.Args) > 2 && bad(n.Args[0]):
				all = append(all, formatOf(n.Args[2]))
			case (f.Sel.Name == "Warn" || f.Sel.Name == "Error") && (nameOf(f.X) == "slog" || nameOf(f.X) == "logger"):
				all = append(all, formatOf(n.Args[0]))
			}
		case *ast.CompositeLit:
			if fields := fieldsOf(n); nameOf(n.Type) == "Warning" && bad(fields["Level"]) {
				all = append(all, formatOf(fields["Text"]))
			}
		}
		return true
	})
	return all
}

// fieldsOf returns the fields of a literal of a struct that has their names.
func fieldsOf(lit *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			fields[nameOf(pair.Key)] = pair.Value
		}
	}
	return fields
}

// states returns what the source of masters status has for the state of a master.
func states(file *ast.File) (all []string) {
	add := func(e ast.Expr) {
		if text := formatOf(e); text != "%v" {
			all = append(all, text)
		}
	}
	each(file, func(c *ast.ValueSpec) {
		for i, name := range c.Names {
			if strings.HasPrefix(name.Name, "state") && i < len(c.Values) {
				add(c.Values[i])
			}
		}
	})
	each(file, func(f *ast.FuncDecl) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ReturnStmt:
				if strings.HasPrefix(f.Name.Name, "stateOf") && len(n.Results) == 2 {
					add(n.Results[0])
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if nameOf(to) == "state" && i < len(n.Rhs) {
						add(n.Rhs[i])
					}
				}
			}
			return true
		})
	})
	return all
}

// A finding is one of doctor.
type finding struct {
	check string // "": another place has it
	text  string
	bad   bool // it is not OK, and the source has the text
}

// findings returns those that a file may have found.
func findings(file *ast.File) (all []finding) {
	add := func(level, check, text ast.Expr) {
		f := finding{strings.TrimPrefix(formatOf(check), "%v"), formatOf(text), nameOf(level) != "LevelOK"}
		f.bad = f.bad && f.text != "%v"
		all = append(all, f)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch name, args := nameOf(n.Fun), n.Args; {
			case name == "add" && len(args) > 3:
				add(args[0], args[1], args[3])
			case name == "refuse":
				add(nil, args[0], args[2])
			case name == "warn":
				add(nil, nil, args[1])
			}
		case *ast.CompositeLit:
			list, _ := n.Type.(*ast.ArrayType)
			switch fields := fieldsOf(n); {
			case list != nil && nameOf(list.Elt) == "Finding":
				for _, one := range n.Elts {
					one.(*ast.CompositeLit).Type = list.Elt
				}
			case nameOf(n.Type) != "Finding" || len(n.Elts) == 0:
			case len(fields) > 0:
				add(fields["Level"], fields["Check"], fields["Text"])
			default:
				add(n.Elts[0], n.Elts[1], n.Elts[3])
			}
		case *ast.AssignStmt:
			var level, text ast.Expr
			for i, to := range n.Lhs {
				switch field, ok := to.(*ast.SelectorExpr); {
				case !ok || i >= len(n.Rhs):
				case field.Sel.Name == "Level":
					level = n.Rhs[i]
				case field.Sel.Name == "Text":
					text = n.Rhs[i]
				}
			}
			if text != nil {
				add(level, nil, text)
			}
		}
		return true
	})
	return all
}

// causes returns the beginnings of the errors that a file may return, of two words and more.
func causes(file *ast.File) (all []string) {
	add := func(e ast.Expr) {
		for _, part := range regexp.MustCompile(verb.String()+`|[:;,(]`).Split(formatOf(e), -1) {
			if part = strings.TrimSpace(part); strings.Contains(part, " ") {
				all = append(all, part)
				return
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := nameOf(n.Fun); len(n.Args) > 0 && (name == "New" || name == "Errorf" || name == "Error" || name == "Restarted" || name == "refuse") {
				add(n.Args[0])
			}
		case *ast.AssignStmt:
			if name := nameOf(n.Lhs[0]); name == "todo" || name == "what" {
				add(n.Rhs[0])
			}
		}
		return true
	})
	return all
}
