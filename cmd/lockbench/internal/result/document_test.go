package result

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentDescribesThisProgramAndMachine(t *testing.T) {
	d := NewDocument(Config{}, nil)
	require.Equal(t, SchemaVersion, d.SchemaVersion)
	require.NotEmpty(t, d.Tool.Go)
	require.NotEmpty(t, d.Env.Kernel)
	require.Positive(t, d.Env.CPUs)
	b, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(b), "null")
}
