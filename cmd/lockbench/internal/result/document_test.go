package result_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

func TestWhatADocumentIsAboutFollowsFromItsCommand(t *testing.T) {
	for _, c := range []struct {
		command string
		add     func(*result.Document)
		want    result.Kind
	}{
		{"", nil, result.KindRun},
		{"run", nil, result.KindRun},
		{"compare", nil, result.KindCompare},
		{"chaos", nil, result.KindRun},
		{"sweep", func(d *result.Document) { d.Sweep = &result.Sweep{} }, result.KindSweep},
		{"sweep", nil, result.KindRun}, // ended before there was any
		{"advise", nil, result.KindRun},
		{"advise", func(d *result.Document) { d.Advice = &result.Advice{} }, result.KindAdvise},
		{"compare", func(d *result.Document) { d.Advice = &result.Advice{} }, result.KindAdvise}, // of a kept result
	} {
		doc := resulttest.Document()
		doc.Config.Command = c.command
		if c.add != nil {
			c.add(&doc)
		}
		require.Equal(t, c.want, doc.Kind(), "%+v", c)
	}
}

func TestJSONConfigHoldsTheWorkloadAndItsSurroundings(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, resulttest.Document(resulttest.Result("muxlock", 1, 100))))
	var doc struct {
		SchemaVersion int `json:"schema_version"`
		Config        struct {
			Workers int
			Dist    string
			Impls   []string
			Target  string
			Server  string
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	require.Equal(t, result.SchemaVersion, doc.SchemaVersion)
	require.Equal(t, 64, doc.Config.Workers)
	require.Equal(t, "own", doc.Config.Dist)
	require.EqualValues(t, "local", doc.Config.Target)
	require.Equal(t, "redis 7.0.15", doc.Config.Server)
}
