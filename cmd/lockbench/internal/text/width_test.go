package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/view"
)

// rendered returns blocks as lines, and requires that no line is too long.
func rendered(t *testing.T, blocks view.Blocks) []string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, view.Page{Body: blocks}, true))
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
		require.Equal(t, strings.TrimRight(line, " "), line)
	}
	return lines
}

func TestALineBreaksBetweenFiguresAndIsIndented(t *testing.T) {
	var b view.Blocks
	b.Line("a %s  last figure", strings.Repeat("µ", 66))
	b.Line("  in: %s", strings.Repeat("seven77 ", 10))
	require.Equal(t, []string{
		"a " + strings.Repeat("µ", 66), "  last figure",
		"  in: seven77 seven77 seven77 seven77 seven77 seven77 seven77 seven77 seven77", "    seven77",
	}, rendered(t, b))
}

func TestACommandCanBePastedAsItIsShown(t *testing.T) {
	var b view.Blocks
	b.Line("try it:\n  lockbench run %s", strings.TrimSpace(strings.Repeat("--workers 512 ", 9)))
	require.Equal(t, []string{
		"try it:",
		"  lockbench run --workers 512 --workers 512 --workers 512 --workers 512 \\",
		"    --workers 512 --workers 512 --workers 512 --workers 512 --workers 512",
	}, rendered(t, b))

	flags := " --dist hot:5%:95% --fencing --hold 'file:my --holds.txt' --masters 10.10.10.10:6379 --rate 500"
	for cut := range len(flags) {
		for line := range strings.Lines(Fold("  lockbench run --" + strings.Repeat("x", cut) + flags)) {
			require.Zero(t, strings.Count(line, "'")%2, "a quoted value is whole: %s", line)
			require.NotRegexp(t, `--(dist|hold|masters|rate) \\\n`, line, "a flag stands with its value")
		}
	}
}

// tableOf renders a table whose row has a name, so many figures and a remark.
func tableOf(t *testing.T, figures int, remark string) []string {
	heads, row := []string{""}, []view.Cell{{Text: "muxlock"}}
	for range figures {
		heads, row = append(heads, "cycle p50"), append(row, view.Cell{Text: "1.23ms"})
	}
	return rendered(t, view.Blocks{{Table: &view.Table{Texts: 1, Remarks: 1, Heads: append(heads, ""), Rows: [][]view.Cell{append(row, view.Cell{Text: remark})}}}})
}

func TestATableThatIsTooWideIsFoldedOrDivided(t *testing.T) {
	require.Equal(t, []string{
		"         cycle p50  cycle p50",
		"muxlock     1.23ms     1.23ms  as long as all of the others taken together and",
		"                               then some",
	}, tableOf(t, 2, "as long as all of the others taken together and then some"))
	require.Equal(t, []string{
		"         cycle p50  cycle p50  cycle p50  cycle p50  cycle p50  cycle p50",
		"muxlock     1.23ms     1.23ms     1.23ms     1.23ms     1.23ms     1.23ms",
		"         cycle p50",
		"muxlock     1.23ms  not valid",
	}, tableOf(t, 7, "not valid"), "figures stand below, with the same name")
}

func TestWhatIsToBeCopiedIsNotFolded(t *testing.T) {
	var b bytes.Buffer
	code := "\t" + strings.Repeat("copied ", 20)
	require.NoError(t, Write(&b, view.Page{Body: view.Blocks{{Line: code, Code: true}}}, false))
	require.Equal(t, code+"\n", b.String())
}
