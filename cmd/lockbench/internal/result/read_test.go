package result_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func document() result.Document {
	return resulttest.Document(resulttest.Result("muxlock", 1, 15000), resulttest.Result("slow", 1, 1000))
}

// written is the document as a file holds it.
func written(t testing.TB) string {
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, document()))
	return b.String()
}

func TestWhatWasWrittenIsReadBack(t *testing.T) {
	text := written(t)
	doc, err := result.Read(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, document(), *doc)
	require.Len(t, doc.Relative, 2)
	var again bytes.Buffer
	require.NoError(t, result.JSON(&again, *doc))
	require.Equal(t, text, again.String())
}

func TestFieldsOfALaterAdditionAreNoHindrance(t *testing.T) {
	_, err := result.Read(strings.NewReader(strings.Replace(written(t), `"workers"`, `"novel": [1], "workers"`, 1)))
	require.NoError(t, err)
	_, err = result.Read(strings.NewReader(swept(strings.Replace(written(t), `"duration_s": 5`, `"duration_s": 0`, 1), 1)))
	require.NoError(t, err, "the first and the last result in a sweep, and a run that measured no time")
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
		"results that are not there": swept(text, 2),
		"sweep names results that":   swept(text, -1),
		"lacks a latency":            strings.Replace(text, `"release": {`, `"novel": {`, 1),
		"a negative duration_s":      strings.Replace(text, `"duration_s": 5`, `"duration_s": -0.1`, 1),
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
	_, err = result.Read(strings.NewReader(strings.Repeat(" ", 64<<20)))
	require.ErrorContains(t, err, "is empty", "of 64 MB")
}

// swept adds a sweep that names the first result and another one.
func swept(text string, other int) string {
	return strings.Replace(text, `"results": [`, fmt.Sprintf(`"sweep": {"points": [{"results": [0, %d]}]}, "results": [`, other), 1)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// testdata/result.json is from a real run with five local masters. testdata/README has the command.
func recorded(t *testing.T) result.Document {
	doc, err := result.ReadFile("testdata/result.json")
	require.NoError(t, err)
	return *doc
}

func TestNothingOfARecordedResultIsLost(t *testing.T) {
	decode := func(text string) map[string]any {
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		return flat(map[string]any{}, "", v)
	}
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, recorded(t)))
	want, got := decode(read(t, "testdata/result.json")), decode(b.String())
	maps.DeleteFunc(got, func(path string, _ any) bool { _, recorded := want[path]; return !recorded })
	require.Equal(t, want, got, "fields may be new, none may be gone")
}

// flat puts the values within v into all, by path, and the lengths of arrays.
func flat(all map[string]any, at string, v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			flat(all, at+"/"+name, field)
		}
	case []any:
		all[at] = len(v)
		for i, element := range v {
			flat(all, at+"/"+strconv.Itoa(i), element)
		}
	default:
		all[at] = v
	}
	return all
}
