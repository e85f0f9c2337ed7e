package bench

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestAResultKeepsItsShape(t *testing.T) {
	cfg := Config{Workers: 4, Rate: 250, Arrivals: ArrivalsUniform, Duration: 4003500 * time.Microsecond, TTL: time.Second, KeyPrefix: "k:", Seed: 42}
	virtual(t, nil, slow{acquire: takes(2 * time.Millisecond), release: time.Millisecond}, cfg, func(t *testing.T, r *Result, err error) {
		require.NoError(t, err)
		r.Client = Client{CPUNsPerOp: 1234.5, AllocsPerOp: 6, GCP99Ns: 81920}
		for _, s := range r.Latency {
			if s != nil {
				require.NotEmpty(t, s.HDR)
				s.HDR = "HISTF" // the rest depends on how this Go compresses
			}
		}
		b, err := json.MarshalIndent(r, "", "  ")
		require.NoError(t, err)
		golden(t, "result.json", append(b, '\n'))
	})
}
