package bench

import (
	"encoding/json"
	"testing"
	"time"

	"muxlock/internal/testing/golden"

	"github.com/stretchr/testify/require"
)

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
		golden.Equal(t, "result.json", string(b)+"\n")
	})
}
