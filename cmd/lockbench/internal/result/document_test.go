package result_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
)

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
