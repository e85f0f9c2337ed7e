package engine

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// The Go of the repository's Markdown compiles: a block is a program, or stands line by line in a test.
func TestGoInMarkdownCompiles(t *testing.T) {
	var tests []string
	for _, text := range textsOf(t, "_test.go") {
		tests = append(tests, trimmed(text))
	}
	programs := 0
	for path, text := range textsOf(t, ".md") {
		require.Empty(t, goWithoutFence(text), "%s: Go stands in ```go", path)
		for _, block := range goBlocks(text) {
			if !strings.HasPrefix(block, "package ") {
				require.True(t, standsIn(block, tests), "%s: in no test:\n%s", path, block)
				continue
			}
			programs++
			t.Run("program of "+filepath.Base(path), func(t *testing.T) { compiles(t, block) })
		}
	}
	require.NotZero(t, programs)
	require.False(t, standsIn("cfg.Client.DialCtxFn = nothing\n", tests))
	require.Equal(t, []string{"lock, err := locks.Acquire(ctx)"}, goWithoutFence("```go\na := 1\n```\n    lock, err := locks.Acquire(ctx)\n    redis-cli get a\n"))
}

// Each link in the repository's Markdown leads to a file or folder of the repository and, with a #, to a heading there.
func TestLinksInMarkdownLeadSomewhere(t *testing.T) {
	texts := textsOf(t, ".md")
	for path, text := range texts {
		for _, link := range deadLinks(path, text, texts) {
			t.Errorf("%s: %s leads nowhere", path, link)
		}
	}
	require.Equal(t, []string{"none.md", "../CONTRIBUTING.md#none", "#none"}, deadLinks("../engine/README.md",
		"# Here\n[a](none.md) [b](../CONTRIBUTING.md#none) [c](#none) [d](#here) [e](../CONTRIBUTING.md#words) [f](fence) [g](https://go.dev)", texts))
	require.Equal(t, []string{"when-masters-lose-their-data", "a-name--twice"}, headings("# When masters lose their data\n\n## A `name`, & twice\n"))
}

// deadLinks returns the links of a file that lead nowhere.
func deadLinks(path, text string, texts map[string]string) (dead []string) {
	for _, found := range linkOf.FindAllStringSubmatch(blockOf.ReplaceAllString(text, ""), -1) {
		link := found[1]
		if strings.Contains(link, "://") {
			continue
		}
		file, heading, _ := strings.Cut(link, "#")
		there := text
		if file != "" {
			file = filepath.Join(filepath.Dir(path), file)
			there = texts[file]
			if _, err := os.Stat(file); err != nil {
				dead = append(dead, link)
				continue
			}
		}
		if heading != "" && !slices.Contains(headings(there), heading) {
			dead = append(dead, link)
		}
	}
	return dead
}

var (
	blockOf = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	linkOf  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	inGo    = regexp.MustCompile(`(?m)^(?: {4}|\t)\s*(.*(?: := |err != nil).*)$`)
)

// textsOf returns the files of the repository whose names end so.
func textsOf(t *testing.T, end string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, end) {
			var text []byte
			text, err = os.ReadFile(path)
			texts[path] = string(text)
		}
		return err
	}))
	require.NotEmpty(t, texts)
	return texts
}

func goBlocks(text string) (blocks []string) {
	for _, block := range blockOf.FindAllStringSubmatch(text, -1) {
		if block[1] == "go" {
			blocks = append(blocks, block[2])
		}
	}
	return blocks
}

func goWithoutFence(text string) (lines []string) {
	for _, line := range inGo.FindAllStringSubmatch(blockOf.ReplaceAllString(text, ""), -1) {
		lines = append(lines, line[1])
	}
	return lines
}

// standsIn reports whether the lines of a block follow each other in a test, however far they are indented there.
func standsIn(block string, tests []string) bool {
	return slices.ContainsFunc(tests, func(text string) bool { return strings.Contains(text, "\n"+trimmed(block)) })
}

func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

func compiles(t *testing.T, program string) {
	redistest.NeedProcess(t)
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	out, err := exec.Command(path, "vet", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// headings are a Markdown file's, as links name them.
func headings(text string) (names []string) {
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(h[1])))
	}
	return names
}
