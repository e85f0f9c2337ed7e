package text_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
	"muxlock/internal/testing/golden"
)

// write shows a document of that command, with hints.
func write(w io.Writer, command string, doc result.Document, traits map[string]view.Trait) error {
	doc.Config.Command = command
	return text.Write(w, view.New(doc, traits, "lockbench again"), true)
}

// shown returns the text of a document of that command.
func shown(t *testing.T, command string, doc result.Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b, command, doc, map[string]view.Trait{"muxlock": {Ours: true}, "slow": {Caveat: "is slow"}}))
	for line := range strings.Lines(b.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80+len("\n"), line)
	}
	return b.String()
}

func TestTheTextOfARecordedResultStaysAsItIs(t *testing.T) {
	doc, err := result.ReadFile("../result/testdata/result.json")
	require.NoError(t, err)
	two := *doc
	two.Results = doc.Results[:2]
	for command, doc := range map[string]result.Document{"run": two, "compare": *doc} {
		var b bytes.Buffer
		require.NoError(t, write(&b, command, doc, map[string]view.Trait{"muxlock": {Ours: true}, "redislock": {Caveat: "is one master"}}))
		golden.Equal(t, command+".txt", b.String())
	}
}

// Any file is either refused, or can be shown completely.
func FuzzRead(f *testing.F) {
	var whole bytes.Buffer
	require.NoError(f, result.JSON(&whole, resulttest.Document(resulttest.Result("muxlock", 1, 15000), resulttest.Result("slow", 1, 1000))))
	f.Add(whole.String())
	f.Add(whole.String()[:whole.Len()/2])
	f.Add(`{"schema_version": 3, "tool": {"name": "lockbench"}, "config": {}, "results": [{"impl": "x", "latency": {"service": {}, "acquire": {}, "release": {}, "cycle": {}}}]}`)
	f.Fuzz(func(t *testing.T, given string) {
		doc, err := result.Read(strings.NewReader(given))
		if err != nil {
			return
		}
		for _, command := range []string{"run", "compare", "sweep", "advise", "chaos", doc.Config.Command} {
			require.NoError(t, write(io.Discard, command, *doc, nil))
		}
	})
}
