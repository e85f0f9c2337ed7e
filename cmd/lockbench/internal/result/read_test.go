package result_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

// written is a document as a file holds it.
func written(t testing.TB) string {
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, resulttest.Document(resulttest.Result("muxlock", 1, 15000), resulttest.Result("slow", 1, 1000))))
	return b.String()
}

func TestWhatWasWrittenIsReadBack(t *testing.T) {
	text := written(t)
	doc, err := result.Read(strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, doc.Results, 2)
	require.EqualValues(t, "local", doc.Config.Target)
	require.Equal(t, 64, doc.Config.Workers)
	var again bytes.Buffer
	require.NoError(t, result.JSON(&again, *doc))
	require.Equal(t, text, again.String())
}

func TestFieldsOfALaterAdditionAreNoHindrance(t *testing.T) {
	_, err := result.Read(strings.NewReader(strings.Replace(written(t), `"workers"`, `"novel": [1], "workers"`, 1)))
	require.NoError(t, err)
}

func TestWhatIsNoResultIsSaidToBeWhatItIs(t *testing.T) {
	text := written(t)
	for want, input := range map[string]string{
		"is empty":                   " \n",
		"is not JSON":                "lockbench run",
		"is cut off after":           text[:len(text)/2],
		"is cut off after 1 bytes":   "{",
		"no result of lockbench":     `[1, 2]`,
		"but no result of lockbench": `{"schema_version": 3, "results": []}`,
		"JSON, but no result":        `"schema_version"`,
		"made by another lockbench: schema 4, this one reads 3": strings.Replace(text, `"schema_version": 3`, `"schema_version": 4`, 1),
		"made by another lockbench: schema 2, this one reads 3": strings.NewReplacer(`"schema_version": 3`, `"schema_version": 2`, `"results": [`, `"results": 5, "r": [`).Replace(text),
		"holds no results":           `{"schema_version": 3, "tool": {"name": "lockbench"}}`,
		"result 1 is null":           `{"schema_version": 3, "tool": {"name": "lockbench"}, "config": {}, "results": [null]}`,
		"result 1 has no":            `{"schema_version": 3, "tool": {"name": "lockbench"}, "config": {}, "results": [{}]}`,
		"results that are not there": `{"schema_version": 3, "tool": {"name": "lockbench"}, "config": {}, "results": [], "sweep": {"points": [{"results": [0]}]}}`,
		"lacks a latency":            `{"schema_version": 3, "tool": {"name": "lockbench"}, "config": {}, "results": [{"impl": "x"}]}`,
		"damaged":                    strings.Replace(text, `"workers": 64`, `"workers": "many"`, 1),
		"--op":                       strings.Replace(text, `"op": "acquire-release"`, `"op": "steal"`, 1),
		"damaged: json":              strings.Replace(text, `"rounds": 3`, `"rounds": 1e400`, 1),
		"not JSON: invalid c":        text + "}",
	} {
		_, err := result.Read(strings.NewReader(input))
		require.ErrorContains(t, err, want)
	}
}

func TestATextWithoutEndIsNotReadToItsEnd(t *testing.T) {
	_, err := result.Read(endless{})
	require.ErrorContains(t, err, "larger than 64 MB")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }
