package result_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
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

// testdata/result.json is from a real run with five local masters. testdata/README has the command.
func recordedText(t *testing.T) string { return read(t, "testdata/result.json") }

func recorded(t *testing.T) result.Document {
	doc, err := result.Read(strings.NewReader(recordedText(t)))
	require.NoError(t, err)
	return *doc
}

func TestNothingOfARecordedResultIsLost(t *testing.T) {
	decode := func(text string) (v any) {
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		return v
	}
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, recorded(t)))
	want, got := decode(recordedText(t)), decode(b.String())
	require.Empty(t, lost("", want, got), "fields may be new, none may be gone")
	got.(map[string]any)["results"].([]any)[1].(map[string]any)["workers"] = 1
	require.Equal(t, "/results/1/workers", lost("", want, got), "the check can fail")
}

// lost returns the path of the first value of want that got lacks.
func lost(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		own, _ := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if path := lost(at+"/"+name, want[name], own[name]); path != "" {
				return path
			}
		}
		return ""
	case []any:
		own, _ := got.([]any)
		if len(own) != len(want) {
			return at
		}
		for i := range want {
			if path := lost(at+"/"+strconv.Itoa(i), want[i], own[i]); path != "" {
				return path
			}
		}
		return ""
	}
	if want != got {
		return at
	}
	return ""
}
