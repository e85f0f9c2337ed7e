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

func TestALineBreaksBetweenFiguresOrElseBetweenWords(t *testing.T) {
	var b view.Blocks
	b.Line("a %s  last figure", strings.Repeat("µ", 66))
	b.Line("  in: %s", strings.Repeat("seven77 ", 12))
	require.Equal(t, []string{
		"a " + strings.Repeat("µ", 66),
		"  last figure",
		"  in: seven77 seven77 seven77 seven77 seven77 seven77 seven77 seven77 seven77",
		"    seven77 seven77 seven77",
	}, rendered(t, b))
	require.Equal(t, strings.Repeat("x", 99)+"\n  y", Fold(strings.Repeat("x", 99)+" y"), "a word stays whole")
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

// tableOf makes a table whose rows have a name, so many figures and a remark.
func tableOf(figures int, remark string) view.Blocks {
	t := view.Table{Texts: 1, Heads: []string{""}, Remarks: 1}
	row := []view.Cell{{Text: "muxlock"}}
	for range figures {
		t.Heads, row = append(t.Heads, "cycle p50"), append(row, view.Cell{Text: "1.23ms"})
	}
	t.Heads, row = append(t.Heads, ""), append(row, view.Cell{Text: remark})
	t.Rows = [][]view.Cell{row}
	var b view.Blocks
	b.Table(t)
	return b
}

func TestTextGivesWayInATableThatIsTooWide(t *testing.T) {
	require.Equal(t, []string{
		"         cycle p50  cycle p50",
		"muxlock     1.23ms     1.23ms  as long as all of the others taken together and",
		"                               then some",
	}, rendered(t, tableOf(2, "as long as all of the others taken together and then some")))
}

func TestFiguresThatHaveNoRoomStandBelowWithTheSameNames(t *testing.T) {
	require.Equal(t, []string{
		"         cycle p50  cycle p50  cycle p50  cycle p50  cycle p50  cycle p50",
		"muxlock     1.23ms     1.23ms     1.23ms     1.23ms     1.23ms     1.23ms",
		"         cycle p50",
		"muxlock     1.23ms  not valid",
	}, rendered(t, tableOf(7, "not valid")))
}

func TestWhatIsToBeCopiedIsNotFolded(t *testing.T) {
	var b bytes.Buffer
	code := "\t" + strings.Repeat("copied ", 20)
	require.NoError(t, Write(&b, view.Page{Body: view.Blocks{{Line: code, Code: true}}}, false))
	require.Equal(t, code+"\n", b.String())
}
