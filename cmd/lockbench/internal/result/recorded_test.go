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
)

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
