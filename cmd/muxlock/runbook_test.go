package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
			all = append(all, logged(source(t, file))...)
		}
	}
	require.Contains(t, all, "lock lost")
	require.Contains(t, all, "leader failed")
	require.Contains(t, all, "another map of groups is in use on the same masters: two may hold a lock")
	require.Subset(t, headings(t), all)

	require.Equal(t, []string{"one", "two", "three", "four"}, logged(`package p
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
}`))
}

func TestRunbookHasEachStateOfMastersStatus(t *testing.T) {
	all := states(source(t, "masters_status.go"))
	require.Subset(t, all, []string{"admitted", "not set up", "a replacement was cut", "lost its data", ": needs %d members that vote, %d can be asked", ", like a majority", "does not vote: %v", "votes in %s"})
	require.Empty(t, missing(all, section(t, "muxlock masters status")))
	require.Equal(t, []string{"down: %v: why"}, missing([]string{"up", "down: %v: why"}, "it is up\nor down: it: so\nwhy"))
}

func TestRunbookHasEachFindingOfDoctor(t *testing.T) {
	var all []finding
	for _, file := range []string{"../../engine/admin/judge.go", "../../engine/admin/check.go", "../../internal/probe/judge.go", "doctor.go"} {
		all = append(all, findings(source(t, file))...)
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

	require.ElementsMatch(t, []finding{
		{"a", "%d of %d", true}, {"b", "none", false}, {"c", "text %v", true}, {"d", "fine", false}, {"e", "no " + "good", true}, {"", "more", true}, {"", "set %v", true}, {"", "right", false}, {"g", "elided", true},
	}, findings(`package p
func f() {
	add(LevelWarn, "a", "todo", "%d of %d", 1, 2)
	add(LevelOK, "b", "", "none")
	refuse("c", "todo", "text %v", 1)
	g(Finding{LevelOK, "d", nil, "fine", "todo"}, admin.Finding{Level: LevelFail, Check: "e", Text: "no " + "good"})
	f.Text += "more"
	f.Level, f.Text = LevelWarn, fmt.Sprintf("set %v", 1)
	f.Level, f.Text = LevelOK, "right"
	return []Finding{{LevelUnknown, "g", nil, "elided", ""}}
}`))
}

// A cause is looked up by its beginning: its first words that are not of another error or a value.
func TestRunbookHasEachCause(t *testing.T) {
	var all []string
	for _, file := range []string{
		"../../pipeline/hung_master.go", "../../pipeline/member.go", "../../pipeline/probe.go", "../../pipeline/ready.go", "../../pipeline/internal/conn/dial.go",
		"../../internal/serverinfo/serverinfo.go", "../../internal/fencing/set.go", "../../internal/fencing/setup.go", "../../internal/fencing/stranger.go",
	} {
		all = append(all, causes(source(t, file))...)
	}
	for _, file := range goFiles(t, "../../pipeline/internal/membership") {
		all = append(all, causes(source(t, file))...)
	}
	require.Subset(t, all, []string{"no answer in time", "is a member of another set", "it needs the registers of", "every master must be up", "set the right user and password", "no vote for another"})
	require.Equal(t, []string{"INFO names no process_id"}, missing(all, runbook(t)), "only tests ask for that one")

	require.Equal(t, []string{"the first words", "set it right", "is none of", "was it", "is gone"}, causes(`package p
var a = fmt.Errorf("%w: %d: the first words: and more", err, 1)
func f() {
	todo = "set it right"
	refuse("%s is none of %d", a, 1)
	what = "was it " + one
	_ = Restarted(errFoo.Error() + " is gone")
	_ = errors.New("short")
}`))
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

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

const (
	lit   = `"(?:[^"\\]|\\.)*"`
	value = `[\w.()\[\]]+`
	// text is a text in the source: a literal with what is added to it, or a format.
	text = `(?:fmt\.Sprintf\()?((?:` + value + ` ?\+ ?)?` + lit + `(?: ?\+ ?(?:` + lit + `|` + value + `))*)`
)

// found returns what a pattern finds in source, one group after the other. A text is returned as a format: values are verbs.
func found(source, pattern string) (all [][]string) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(source, -1) {
		var groups []string
		for _, group := range match[1:] {
			if strings.Contains(group, `"`) {
				group = regexp.MustCompile(lit+`|`+value).ReplaceAllStringFunc(group, func(part string) string {
					if literal, err := strconv.Unquote(part); err == nil {
						return literal
					}
					return "%v"
				})
				group = regexp.MustCompile(` ?\+ ?`).ReplaceAllString(group, "")
			}
			groups = append(groups, group)
		}
		all = append(all, groups)
	}
	return all
}

// texts returns the groups of what was found that are not empty.
func texts(found [][]string) (all []string) {
	for _, group := range slices.Concat(found...) {
		if group != "" {
			all = append(all, group)
		}
	}
	return all
}

// logged returns the messages that a file logs at WARN or ERROR.
func logged(source string) []string {
	return texts(found(source, `(?:slog|logger)\.(?:Warn|Error)\(`+text+`|Log\(slog\.Level(?:Warn|Error), \w+, `+text+`|Warning{Text: `+text+`, Level: slog\.Level(?:Warn|Error)`))
}

// states returns what the source of masters status has for the state of a master.
func states(source string) []string {
	return texts(found(source, `\bstate\w*(?:, do)? +[+:]?= `+text+`|\breturn (?:state \+ )?`+text+`[^\n{]*, `))
}

// A finding is one of doctor.
type finding struct {
	check string // "": another place has it
	text  string
	bad   bool // it is not OK, and the source has the text
}

// findings returns those that a file may have found.
func findings(source string) (all []finding) {
	const level = `(?:admin\.)?Level(\w+), `
	for _, pattern := range []string{
		`add\(` + level + `(` + lit + `|\w+), ` + lit + `, ` + text,
		`{` + level + `(` + lit + `), nil, ` + text,
		`Level: ` + level + `()Text: ` + text,
		`Level: (?:admin\.)?Level(\w+), Check: (` + lit + `)(?:, Text: ` + text + `)?`,
		`Text(?:, \w+\.ToDo)? \+?= ` + level + `()` + text,
		`()refuse\((` + lit + `), ` + lit + `, ` + text,
		`()()warn\((?:` + lit + `|` + value + `|\+)+, ` + text,
		`()()\n\s+\w+\.Text(?:, \w+\.ToDo)? \+?= ` + text,
	} {
		for _, f := range found(source, pattern) {
			all = append(all, finding{f[1], f[2], f[0] != "OK" && f[2] != ""})
		}
	}
	return all
}

// causes returns the beginnings of the errors that a file may return, of two words and more.
func causes(source string) (all []string) {
	for _, cause := range texts(found(source, `\b(?:New|Errorf|Error|Restarted|refuse)\(`+text+`|\b(?:todo|what) = `+text)) {
		for _, part := range regexp.MustCompile(verb.String()+`|[:;,(]`).Split(cause, -1) {
			if part = strings.TrimSpace(part); strings.Contains(part, " ") {
				all = append(all, part)
				break
			}
		}
	}
	return all
}
